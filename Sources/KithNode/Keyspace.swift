import KithDocuments
import KithStore
import KithTransport

/// A collection of a database that the node has open, for requests about documents.
@LoopActor
struct Keyspace {
    let database: OpenDatabase
    let collection: CollectionName

    /// The sequence of the collection's last change, as the store last told.
    var lastSequence: UInt64 { database.lastSequences[collection] ?? 0 }
    /// Wakes whoever follows the changes.
    var changed: ChangeSignal { database.changed }
    var isClosed: Bool { database.isClosed }

    /// Reads on one of the store's readers.
    ///
    /// - Throws: `.notFound` when the collection is not there; what `body` throws.
    func read<T: Sendable>(_ body: @escaping @Sendable (Snapshot) throws -> T) async throws -> T {
        try await database.read { [collection] in try body($0.collection(collection)) }
    }

    /// Writes; the answer comes when it is durable.
    ///
    /// - Throws: as `read`.
    func write<T: Sendable>(_ body: @escaping @Sendable (WriteTransaction) throws -> T) async throws -> T {
        try await database.write { [collection] in try body($0.collection(collection)) }
    }
}
