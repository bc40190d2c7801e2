import KithDocuments

/// A revision that somebody wants to store, and the revision that they take for the document's winner.
public struct Proposal: Sendable {
    /// The document.
    public let id: DocumentID
    /// The revision to store.
    public let revision: RevisionID
    /// What it descends from; nil where nothing of the document is known to them.
    public let parent: RevisionID?

    /// A proposal.
    public init(id: DocumentID, revision: RevisionID, parent: RevisionID?) {
        self.id = id
        self.revision = revision
        self.parent = parent
    }
}
