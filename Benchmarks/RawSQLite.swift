import CSQLite
import Glibc
import KithDocuments

/// The reference: the same bodies into one plain SQLite table with two indexes (by ID and by sequence), as fast as it goes,
/// in a write-ahead log with `synchronous=FULL`.
final class RawSQLite {
    private let path: String
    private var connection: OpaquePointer?
    private var statement: OpaquePointer?

    /// Makes a database, which goes away with this object.
    init(folder: String, name: String) throws {
        path = folder + "/raw-\(name).db"
        try check(sqlite3_open(path, &connection))
        try check(
            sqlite3_exec(
                connection,
                """
                PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;
                CREATE TABLE documents (id TEXT PRIMARY KEY, sequence INTEGER NOT NULL, body BLOB NOT NULL) WITHOUT ROWID;
                CREATE UNIQUE INDEX by_sequence ON documents (sequence);
                """, nil, nil, nil))
        try check(sqlite3_prepare_v2(connection, "INSERT INTO documents VALUES (?, ?, ?)", -1, &statement, nil))
    }

    deinit {
        sqlite3_finalize(statement)
        sqlite3_close(connection)
        for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) }
    }

    /// Inserts so many documents into a database of their own, `batch` to a transaction.
    ///
    /// - Returns: documents in a second.
    static func insertRate(count: Int, batch: Int, folder: String) throws -> Double {
        let database = try RawSQLite(folder: folder, name: "\(count)-\(batch)")
        return Double(count) / (try database.insert(0..<count, batch: batch))
    }

    /// Inserts new documents, `batch` to a transaction.
    ///
    /// - Returns: seconds.
    func insert(_ numbers: Range<Int>, batch: Int) throws -> Double {
        var seconds = 0.0
        for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: batch) {
            let documents = BenchmarkDocuments.made(start..<min(start + batch, numbers.upperBound))
            seconds += try Stopwatch.seconds {
                try check(sqlite3_exec(connection, "BEGIN", nil, nil, nil))
                for (number, document) in documents.enumerated() {
                    sqlite3_bind_text(statement, 1, document.id, -1, kith_sqlite_transient())
                    sqlite3_bind_int64(statement, 2, Int64(start + number + 1))
                    try document.body.withUnsafeBytes {
                        sqlite3_bind_blob(statement, 3, $0.baseAddress, Int32($0.count), kith_sqlite_static())
                        try check(sqlite3_step(statement))
                    }
                    sqlite3_reset(statement)
                }
                try check(sqlite3_exec(connection, "COMMIT", nil, nil, nil))
            }
        }
        return seconds
    }

    private func check(_ code: Int32) throws {
        guard code == SQLITE_OK || code == SQLITE_DONE else {
            throw KithError(.inputOutput, "SQLite answered \(code)")
        }
    }
}
