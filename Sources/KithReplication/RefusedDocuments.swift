import KithDocuments
import KithStore

/// What one session knows of documents that one side has refused, before or on this link: it tells when one of them was
/// taken after all.
struct RefusedDocuments {
    private struct Key: Hashable {
        let collection: CollectionName
        let id: DocumentID
    }

    /// The documents that are looked out for; mostly none.
    private var watched: Set<Key> = []
    private var new: [ReplicationRefusal] = []
    private var taken: [ReplicationAcceptance] = []

    /// Looks out for these, too.
    mutating func watch(_ documents: [DocumentID], in collection: CollectionName, limits: ReplicationLimits) {
        for id in documents where watched.count < limits.watchedDocumentsMax {
            watched.insert(Key(collection: collection, id: id))
        }
    }

    mutating func note(_ refusal: ReplicationRefusal, limits: ReplicationLimits) {
        guard new.count < limits.refusalsMax else { return }
        new.append(refusal)
        if let id = try? DocumentID(refusal.id) { watch([id], in: refusal.collection, limits: limits) }
    }

    /// Notes that the receiver has a revision.
    mutating func note(_ acceptance: ReplicationAcceptance) {
        guard !watched.isEmpty else { return }
        if watched.contains(Key(collection: acceptance.collection, id: acceptance.name.id)) { taken.append(acceptance) }
    }

    mutating func takeNew() -> [ReplicationRefusal] {
        defer { new.removeAll() }
        return new
    }

    mutating func takeTaken() -> [ReplicationAcceptance] {
        defer { taken.removeAll() }
        return taken
    }
}
