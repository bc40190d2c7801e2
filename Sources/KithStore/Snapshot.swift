import KithDocuments

/// One state of a database, for reading: what is committed later is not seen.
///
/// It is valid inside the closure that it is given to; used later, each call throws `.internal`. It belongs to one
/// thread. All calls throw `.damaged` and `.inputOutput` where the file cannot be read.
public class Snapshot {
    private final let usedConnection: SQLiteConnection
    private final var hasEnded = false

    init(_ connection: SQLiteConnection) {
        usedConnection = connection
    }

    /// Makes each later use an error.
    final func end() {
        hasEnded = true
    }

    /// The connection, while this is valid.
    final var connection: SQLiteConnection {
        get throws(KithError) {
            if hasEnded {
                throw KithError(
                    .internal, "A snapshot of database \(usedConnection.databaseName) is used after its end",
                    remedy: "Do not keep a snapshot or transaction beyond the closure that it is given to")
            }
            return usedConnection
        }
    }

    /// The counters of this state.
    func counters() throws -> Counters {
        try Self.readCounters(connection)
    }

    static func readCounters(_ connection: SQLiteConnection) throws -> Counters {
        try connection.with(.counters) { statement in
            guard try statement.step() else {
                throw DocumentRow.damaged(connection.databaseName, cause: nil)
            }
            return Counters(
                lastSequence: statement.uint(0), live: statement.int(1), deleted: statement.int(2),
                conflicts: statement.int(3))
        }
    }

    /// A document's row, without the body.
    @inline(__always)
    final func row(_ id: DocumentID, _ connection: SQLiteConnection) throws -> DocumentRow? {
        try connection.with(.document) { statement in
            statement.bind(id, at: 1)
            return try statement.step() ? DocumentRow(statement, first: 0) : nil
        }
    }

    /// The body of a losing leaf.
    final func leafBody(_ id: DocumentID, _ revision: RevisionID, _ connection: SQLiteConnection) throws -> [UInt8] {
        try connection.with(.leafBody) { statement in
            statement.bind(id, at: 1)
            statement.bind(revision, at: 2)
            guard try statement.step() else {
                // Each losing leaf has its row: an invariant of every write.
                throw DocumentRow.damaged(connection.databaseName, cause: nil)
            }
            return statement.bytes(0)
        }
    }
}
