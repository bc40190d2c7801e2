import CSQLite
import Glibc
import KithDocuments

/// The reference: the same bodies into one plain SQLite table with one index, as fast as it goes.
enum RawSQLite {
    /// Inserts documents, `batch` to a transaction, in a write-ahead log with `synchronous=FULL`.
    ///
    /// - Returns: documents in a second.
    static func insertRate(count: Int, batch: Int, folder: String) throws -> Double {
        let path = folder + "/raw-\(getpid())-\(count)-\(batch).db"
        var connection: OpaquePointer?
        defer {
            sqlite3_close(connection)
            for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) }
        }
        func check(_ code: Int32) throws {
            guard code == SQLITE_OK || code == SQLITE_DONE else {
                throw KithError(.inputOutput, "SQLite answered \(code)")
            }
        }
        try check(sqlite3_open(path, &connection))
        try check(
            sqlite3_exec(
                connection,
                """
                PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;
                CREATE TABLE documents (id TEXT PRIMARY KEY, sequence INTEGER NOT NULL, body BLOB NOT NULL) WITHOUT ROWID;
                CREATE UNIQUE INDEX by_sequence ON documents (sequence);
                """, nil, nil, nil))
        var statement: OpaquePointer?
        try check(sqlite3_prepare_v2(connection, "INSERT INTO documents VALUES (?, ?, ?)", -1, &statement, nil))
        defer { sqlite3_finalize(statement) }
        let seconds = try Stopwatch.seconds {
            var number = 0
            while number < count {
                try check(sqlite3_exec(connection, "BEGIN", nil, nil, nil))
                for _ in 0..<min(batch, count - number) {
                    let body = BenchmarkDocuments.body(number)
                    sqlite3_bind_text(statement, 1, BenchmarkDocuments.id(number), -1, kith_sqlite_transient())
                    sqlite3_bind_int64(statement, 2, Int64(number + 1))
                    body.withUnsafeBytes {
                        _ = sqlite3_bind_blob(statement, 3, $0.baseAddress, Int32($0.count), kith_sqlite_transient())
                    }
                    try check(sqlite3_step(statement))
                    sqlite3_reset(statement)
                    number += 1
                }
                try check(sqlite3_exec(connection, "COMMIT", nil, nil, nil))
            }
        }
        return Double(count) / seconds
    }
}
