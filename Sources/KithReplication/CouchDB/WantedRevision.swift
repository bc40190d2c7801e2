import KithDocuments

/// A revision that the server has and this node lacks.
struct WantedRevision {
    let name: RevisionName
    /// What of the tracker waits for it; `nil` for one that was refused before.
    let ticket: Int?
    /// What is here of the document.
    let ancestors: [RevisionID]
    /// Whether it is asked for by itself, since an answer with several was too long.
    var isSingle = false

    /// What is asked for, as a part of a query: of what was refused before, all leaves, since only one of them is remembered.
    var openRevisions: String {
        ticket == nil
            ? "open_revs=all" : CouchDBPath.json("open_revs", CouchDBPath.list([name.revision]))
    }

    /// How it is counted when a request about it fails.
    var about: CouchDBConfiguration.RefusedRevision { .init(name: name, isOutgoing: false) }

    /// The same, asked for by itself.
    var alone: WantedRevision {
        var copy = self
        copy.isSingle = true
        return copy
    }
}
