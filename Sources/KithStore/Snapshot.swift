import KithDocuments

/// One state of a database, for reading: what is committed later is not seen.
///
/// It looks at the collection `_default`; `collection(_:)` gives a view of another one in the same state.
///
/// It is valid inside the closure that it is given to; used later, each call throws `.internal`. It belongs to one
/// thread. All calls throw `.damaged` and `.inputOutput` where the file cannot be read.
public class Snapshot {
    /// What all views of one state share: which connection reads it, and whether it is over.
    final class Lifetime {
        let connection: SQLiteConnection
        var hasEnded = false

        init(_ connection: SQLiteConnection) {
            self.connection = connection
        }
    }

    final let lifetime: Lifetime
    /// The collection that this looks at.
    public final let collectionName: CollectionName
    /// Its number, which its tables have in their names.
    final let number: Int

    init(_ connection: SQLiteConnection) {
        lifetime = Lifetime(connection)
        collectionName = .default
        number = StoreSchema.defaultCollection
    }

    /// A view of another collection in the same state.
    init(of other: Snapshot, collection number: Int, _ name: CollectionName) {
        lifetime = other.lifetime
        collectionName = name
        self.number = number
    }

    /// Makes each later use an error, also of its views of other collections.
    final func end() {
        lifetime.hasEnded = true
    }

    /// The connection, while this is valid.
    final var connection: SQLiteConnection {
        get throws(KithError) {
            if lifetime.hasEnded {
                throw KithError(
                    .internal, "A snapshot of database \(lifetime.connection.databaseName) is used after its end",
                    remedy: "Do not keep a snapshot or transaction beyond the closure that it is given to")
            }
            return lifetime.connection
        }
    }

    /// The same state, seen from another collection.
    ///
    /// - Throws: `.notFound` when there is none of that name.
    public func collection(_ name: CollectionName) throws -> Snapshot {
        Snapshot(of: self, collection: try numberOfCollection(name), name)
    }

    /// What the database is set to.
    public func settings() throws -> DatabaseSettings {
        try connection.with(.settings) { statement in
            guard try statement.step() else { throw DocumentRow.damaged(lifetime.connection.databaseName, cause: nil) }
            return DatabaseSettings(
                revisionsLimit: statement.int(0), keepsOldBodies: statement.int(1) != 0,
                mergePolicy: MergePolicy(number: statement.int(2)))
        }
    }

    /// The counters of this state.
    func counters() throws -> Counters {
        try Self.readCounters(connection, number)
    }

    static func readCounters(_ connection: SQLiteConnection, _ number: Int) throws -> Counters {
        try connection.with(.counters, in: number) { statement in
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
        try connection.with(.document, in: number) { statement in
            statement.bind(id, at: 1)
            return try statement.step() ? DocumentRow(statement, first: 0) : nil
        }
    }

    /// The body and the attachments of a losing leaf, or of an older revision whose body is kept.
    final func leafBody(
        _ id: DocumentID, _ revision: RevisionID, _ connection: SQLiteConnection
    ) throws -> (body: [UInt8], attachments: AttachmentList) {
        try connection.with(.leafBody, in: number) { statement in
            statement.bind(id, at: 1)
            statement.bind(revision, at: 2)
            guard try statement.step() else {
                // Each losing leaf has its row: an invariant of every write.
                throw DocumentRow.damaged(connection.databaseName, cause: nil)
            }
            return (statement.bytes(0), try statement.attachments(1))
        }
    }
}
