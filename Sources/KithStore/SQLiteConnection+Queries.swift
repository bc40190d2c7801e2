import CSQLite
import KithDocuments

extension SQLiteConnection {
    /// A statement that is not one of `StoreQuery`; the caller finalises it.
    func prepared(_ sql: String) throws(KithError) -> OpaquePointer {
        guard let handle else { throw .closed(databaseName) }
        var pointer: OpaquePointer?
        let code = sqlite3_prepare_v2(handle, sql, -1, &pointer, nil)
        guard code == SQLITE_OK, let pointer else { throw error(code) }
        return pointer
    }

    /// Uses a statement once.
    func query<Result>(_ sql: String, _ body: (SQLiteStatement) throws -> Result) throws -> Result {
        try PreparedQuery(sql, on: self).use(body)
    }

    /// Ends the statement that runs, from another thread: it fails with an error that nobody else gets.
    func interrupt() {
        guard let handle else { return }
        sqlite3_interrupt(handle)
    }
}
