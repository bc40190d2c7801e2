import KithDocuments
import KithStore

/// What the role `write` does to documents, one function each, in a transaction; what they return is printed when the
/// transaction is acknowledged.
///
/// Each takes a number that decides everything else. Documents are few and live long, so that each kind of change meets
/// documents in every state.
enum ProbeOperations {
    typealias Operation = @Sendable (WriteTransaction, UInt64) throws -> [AcknowledgedWrite]

    /// One more kind of write is one more line.
    static let all: [Operation] = [put, put, put, delete, insertConflict, resolve, batch]

    private static let documentCount: UInt64 = 200
    private static let batchSize: UInt64 = 12
    private static let leavesMax = 4

    /// Makes a document, updates it, or brings it back.
    private static func put(_ transaction: WriteTransaction, _ chance: UInt64) throws -> [AcknowledgedWrite] {
        let id = try documentID(chance)
        let parent = try transaction.document(id)?.revision
        let length = Int(chance >> 32 & 0x1FFF)
        let body = #"{"n":\#(chance >> 1),"text":"\#(String(repeating: "x", count: length))"}"#
        return [acknowledged(id, try transaction.put(id, body: Array(body.utf8), parent: parent))]
    }

    private static func delete(_ transaction: WriteTransaction, _ chance: UInt64) throws -> [AcknowledgedWrite] {
        let id = try documentID(chance)
        guard let document = try transaction.document(id), !document.isDeleted else { return [] }
        return [acknowledged(id, try transaction.delete(id, parent: document.revision))]
    }

    /// A branch, as it comes from a peer that has not seen the winner.
    private static func insertConflict(_ transaction: WriteTransaction, _ chance: UInt64) throws -> [AcknowledgedWrite]
    {
        let id = try documentID(chance)
        let winner = try transaction.document(id)
        if let winner, winner.leaves.count >= leavesMax { return try resolve(transaction, chance) }
        let digits = String(chance, radix: 16)
        let digest = String(repeating: "0", count: 40 - digits.count) + digits
        let revision = try RevisionID(generation: max(winner?.revision.generation ?? 1, 1), digest: digest)
        let history = try winner.map { try transaction.history(id, $0.revision) ?? [] } ?? []
        let outcome = try transaction.insert(
            IncomingRevision(id: id, revision: revision, history: history, body: Array(#"{"branch":true}"#.utf8)))
        guard case .inserted(let sequence) = outcome else { return [] }
        return [AcknowledgedWrite(id: id, revision: revision, sequence: sequence)]
    }

    /// Deletes a losing leaf.
    private static func resolve(_ transaction: WriteTransaction, _ chance: UInt64) throws -> [AcknowledgedWrite] {
        let id = try documentID(chance)
        guard let loser = try transaction.document(id)?.conflicts.last else { return [] }
        return [acknowledged(id, try transaction.delete(id, parent: loser))]
    }

    /// Several documents at once: all of them or none.
    private static func batch(_ transaction: WriteTransaction, _ chance: UInt64) throws -> [AcknowledgedWrite] {
        try transaction.setLocalDocument("batches", Array(String(chance).utf8))
        return try (0..<batchSize).flatMap { try put(transaction, chance &+ $0) }
    }

    private static func documentID(_ chance: UInt64) throws -> DocumentID {
        try DocumentID("document-\(chance % documentCount)")
    }

    private static func acknowledged(
        _ id: DocumentID, _ outcome: (revision: RevisionID, sequence: UInt64)
    ) -> AcknowledgedWrite {
        AcknowledgedWrite(id: id, revision: outcome.revision, sequence: outcome.sequence)
    }
}
