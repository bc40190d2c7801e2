import CSQLite
import KithDocuments
import Testing

/// A database file as SQLite alone sees it: tests damage files by it, and make what only other versions write.
final class RawFile {
    private var handle: OpaquePointer?

    init(_ path: String) throws {
        try #require(sqlite3_open(path, &handle) == SQLITE_OK)
    }

    deinit { sqlite3_close(handle) }

    func execute(_ sql: String) throws {
        try #require(
            sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK, "\(sql): \(String(cString: sqlite3_errmsg(handle)))")
    }

    /// The first column of the first row.
    func number(_ sql: String) throws -> Int {
        var statement: OpaquePointer?
        try #require(sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK)
        defer { sqlite3_finalize(statement) }
        try #require(sqlite3_step(statement) == SQLITE_ROW)
        return Int(sqlite3_column_int64(statement, 0))
    }

    /// Bytes as SQL has them.
    static func literal(_ bytes: [UInt8]) -> String {
        "x'" + bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() + "'"
    }
}
