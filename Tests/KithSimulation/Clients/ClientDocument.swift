import KithDocuments

/// A document of a simulated client: its current revision, and what is known of the node's.
struct ClientDocument {
    var revision: RevisionID?
    /// Its ancestors, newest first, as many as Couchbase Lite keeps.
    var history: [RevisionID] = []
    var body: [UInt8] = []
    var attachments = AttachmentList()
    var isDeleted = false
    /// The last revision known to be the node's current one.
    var remote: RevisionID?
    /// The client's own sequence of its last change.
    var sequence: UInt64 = 0

    /// Whether there is a revision that the node is not known to have.
    var isPending: Bool { revision != nil && revision != remote }

    /// Whether a revision is the current one or an ancestor of it.
    func has(_ other: RevisionID) -> Bool { revision == other || history.contains(other) }
}
