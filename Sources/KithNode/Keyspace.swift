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

    /// Writes for a request; the answer comes when it is durable. Nothing is written when the right to it was taken back before the
    /// transaction has ended.
    ///
    /// - Throws: as `read`; 403.
    func write<T: Sendable>(
        _ revocation: Revocation, _ body: @escaping @Sendable (WriteTransaction) throws -> T
    ) async throws -> T {
        try await database.write { [collection] in try Self.write(revocation, $0.collection(collection), body) }
    }

    /// The same within a transaction.
    nonisolated static func write<T>(
        _ revocation: Revocation, _ transaction: WriteTransaction, _ body: (WriteTransaction) throws -> T
    ) throws -> T {
        // The first saves the work, the second is what counts.
        try revocation.check()
        let result = try body(transaction)
        try revocation.check()
        return result
    }
}
