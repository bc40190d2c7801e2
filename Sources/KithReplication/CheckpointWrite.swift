import KithDocuments
import KithStore

/// A peer's checkpoint to be written here, if its revision is still the expected one.
///
/// A peer has so many of them: a new one takes the place of the one that it has not written for the longest time. Whoever
/// comes back to one that is gone begins anew, which costs it time and loses nothing.
public struct CheckpointWrite: Sendable {
    /// The local document that keeps it.
    let name: String
    /// Its revision as the peer knows it; 0: there is none yet.
    let expectedRevision: UInt64
    /// What the peer keeps in it.
    public let body: [UInt8]
    /// How far the peer is, where that follows from it.
    let progress: LocalDocument?
    /// The local document that lists the peer's checkpoints.
    let listName: String
    /// How many one peer has at most.
    let ownMax: Int
    /// How many all peers have together; one more is refused, unless its peer has another that can go.
    let countMax: Int

    /// Writes it.
    func perform(_ transaction: WriteTransaction) throws -> StoreResult {
        let stored = try transaction.localDocument(name).flatMap(StoredCheckpoint.init(decoding:))
        guard (stored?.revision ?? 0) == expectedRevision else { return .checkpointConflict }
        try noteUse(transaction, isNew: stored == nil)
        let next = StoredCheckpoint(revision: expectedRevision + 1, body: body)
        try transaction.setLocalDocument(name, next.encoded())
        if let progress { try transaction.setLocalDocument(progress.name, progress.body) }
        return .checkpoint(revision: next.revision)
    }

    /// Puts the checkpoint at the end of the peer's list, and takes away what is too much at its beginning.
    private func noteUse(_ transaction: WriteTransaction, isNew: Bool) throws {
        let list = try transaction.localDocument(listName) ?? []
        // Names have no line feeds in them.
        var names = list.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
        guard names.last != name else { return }
        names.removeAll { $0 == name }
        if isNew {
            let prefix = CollectionReplicator.checkpointPrefix
            let isFull = try transaction.localDocumentCount(prefix: prefix, limit: countMax) >= countMax
            if isFull, names.isEmpty {
                throw KithError(
                    .tooLarge, "peers have \(countMax) checkpoints in a collection of this database already")
            }
            let excess = max(names.count + 1 - ownMax, isFull ? 1 : 0)
            for name in names.prefix(excess) { try transaction.setLocalDocument(name, nil) }
            names.removeFirst(min(excess, names.count))
        }
        names.append(name)
        try transaction.setLocalDocument(listName, Array(names.joined(separator: "\n").utf8))
    }
}
