import CSQLite
import KithDocuments

/// A statement that one operation prepares for itself and uses often, beside those of `StoreQuery`; it ends with this
/// object, before its connection is given back.
final class PreparedQuery {
    private let pointer: OpaquePointer
    private let connection: SQLiteConnection

    init(_ sql: String, on connection: SQLiteConnection) throws(KithError) {
        self.connection = connection
        pointer = try connection.prepared(sql)
    }

    deinit {
        sqlite3_finalize(pointer)
    }

    /// Uses the statement; afterwards it holds no row and no binding. It must not be used again inside.
    func use<Result>(_ body: (SQLiteStatement) throws -> Result) throws -> Result {
        defer {
            sqlite3_reset(pointer)
            sqlite3_clear_bindings(pointer)
        }
        return try body(SQLiteStatement(pointer: pointer, connection: connection))
    }
}
