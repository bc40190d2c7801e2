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

    /// Moves the write-ahead log of a draft, which nobody else has open, into the main file and empties it.
    ///
    /// - Throws: when it is not empty afterwards.
    func checkpointWhole() throws(KithError) {
        guard try checkpointWithoutWaiting() else {
            throw KithError(
                .inputOutput, "The file of database \(databaseName) cannot be made: another program uses the draft",
                remedy: "Close the other program, and try again")
        }
    }

    /// Moves the write-ahead log into the main file and empties it, if nobody is in the way.
    ///
    /// - Returns: whether it is empty now.
    func checkpointWithoutWaiting() throws(KithError) -> Bool {
        guard let handle else { throw .closed(databaseName) }
        waitsForLocks = false
        defer { waitsForLocks = true }
        let code = sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
        if code == SQLITE_OK { return true }
        guard code & 0xFF == SQLITE_BUSY || code & 0xFF == SQLITE_LOCKED else { throw error(code) }
        return false
    }
}
