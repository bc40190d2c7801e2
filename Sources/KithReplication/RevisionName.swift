import KithDocuments

/// One revision of one document.
public struct RevisionName: Hashable, Sendable {
    /// The document.
    public let id: DocumentID
    /// The revision.
    public let revision: RevisionID

    /// Names a revision.
    public init(id: DocumentID, revision: RevisionID) {
        self.id = id
        self.revision = revision
    }
}
