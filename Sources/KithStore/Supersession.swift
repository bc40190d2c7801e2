import KithDocuments

/// The word of another node that a revision of a document is an ancestor of another one.
public struct Supersession: Hashable, Sendable {
    /// The document.
    public let id: DocumentID
    /// What supersedes.
    public let leaf: RevisionID
    /// What is superseded, of a lower generation.
    public let revision: RevisionID

    /// Says which revision supersedes which.
    public init(id: DocumentID, leaf: RevisionID, revision: RevisionID) {
        self.id = id
        self.leaf = leaf
        self.revision = revision
    }
}
