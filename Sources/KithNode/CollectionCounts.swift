import KithDocuments
import KithStore

/// What a collection of a database holds, as status and REST tell it.
struct CollectionCounts: Sendable {
    let name: CollectionName
    let documents: Int
    let conflicts: Int
    /// Some of the documents in conflict.
    let firstConflicts: [Change]

    /// All collections, `_default` first.
    ///
    /// - Parameter conflictsMax: how many documents in conflict are named, of all collections together.
    static func all(_ snapshot: Snapshot, conflictsMax: Int = 0) throws -> [CollectionCounts] {
        var named = 0
        return try snapshot.collections().map { name in
            let collection = try snapshot.collection(name)
            let count = try collection.conflictCount
            let first = count > 0 && named < conflictsMax ? try collection.conflicts(limit: conflictsMax - named) : []
            named += first.count
            return CollectionCounts(
                name: name, documents: try collection.documentCount, conflicts: count, firstConflicts: first)
        }
    }
}
