import KithDocuments

/// A leaf with all that another node needs to store it.
public struct RevisionForTransfer: Sendable, Equatable {
    /// The document.
    public let id: DocumentID
    /// The revision.
    public let revision: RevisionID
    /// Whether it is a tombstone.
    public let isDeleted: Bool
    /// The body: a JSON object in canonical form.
    public let body: [UInt8]
    /// Its attachments, whose bytes are stored.
    public let attachments: AttachmentList
    /// Its ancestors, the newest first, without the revision itself.
    public let history: [RevisionID]
}
