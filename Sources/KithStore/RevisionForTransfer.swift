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

    /// A revision with all that belongs to it.
    public init(
        id: DocumentID, revision: RevisionID, isDeleted: Bool, body: [UInt8], attachments: AttachmentList,
        history: [RevisionID]
    ) {
        self.id = id
        self.revision = revision
        self.isDeleted = isDeleted
        self.body = body
        self.attachments = attachments
        self.history = history
    }

    /// What it takes in memory, in bytes.
    public var byteCount: Int { body.count + history.count * MemoryLayout<RevisionID>.stride }
}
