import KithDocuments

/// A revision that the peer asked for.
struct OutgoingRevision {
    var name: RevisionName
    var sequence: UInt64
    var ticket: Int
    var ancestors: [RevisionID]
    var historyMax: Int
    var replacesGone: Bool
}
