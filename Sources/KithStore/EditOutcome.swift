import KithDocuments

/// What an edit has made.
public struct EditOutcome: Sendable, Equatable {
    /// The document.
    public let id: DocumentID
    /// The new revision.
    public let revision: RevisionID
    /// The document's new sequence.
    public let sequence: UInt64
}
