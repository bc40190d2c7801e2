import KithDocuments

/// A revision made elsewhere, to be stored with its history.
public struct IncomingRevision: Sendable {
    /// The document.
    public let id: DocumentID
    /// The revision, kept as it came.
    public let revision: RevisionID
    /// Its ancestors, the newest first, without the revision itself; generations fall, gaps are allowed. Fillers are
    /// left out: they stand for what the sender does not know.
    public let history: [RevisionID]
    /// Whether it is a tombstone.
    public let isDeleted: Bool
    /// The body: any JSON text of an object, brought into canonical form when stored.
    public let body: [UInt8]
    /// Its attachments, whose bytes have to be stored already.
    public let attachments: AttachmentList
    /// Whether it is refused where it would make a conflict.
    public let refusesConflict: Bool

    /// A revision with its history, the newest first.
    public init(
        id: DocumentID, revision: RevisionID, history: [RevisionID] = [], isDeleted: Bool = false, body: [UInt8],
        attachments: AttachmentList = AttachmentList(), refusesConflict: Bool = false
    ) {
        self.id = id
        self.revision = revision
        self.history = history.contains(where: \.isFiller) ? history.filter { !$0.isFiller } : history
        self.isDeleted = isDeleted
        self.body = body
        self.attachments = attachments
        self.refusesConflict = refusesConflict
    }
}
