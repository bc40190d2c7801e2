import KithDocuments

/// A document as it is stored: one of its leaves with the body.
public struct StoredDocument: Sendable, Equatable {
    /// The document.
    public let id: DocumentID
    /// The revision that the body belongs to.
    public let revision: RevisionID
    /// Whether that revision is a tombstone.
    public let isDeleted: Bool
    /// The body: a JSON object in canonical form; empty where bodies were not asked for.
    public let body: [UInt8]
    /// The attachments of that revision; empty where bodies were not asked for.
    public let attachments: AttachmentList
    /// The sequence of the document's last change.
    public let sequence: UInt64
    /// All leaves of the document, the winner first, then by the order that chooses the winner.
    public let leaves: [Leaf]

    /// The losing leaves that are live: what is to be resolved when the winner is live too.
    public var conflicts: [RevisionID] {
        leaves.dropFirst().filter { !$0.isDeleted }.map(\.revision)
    }
}
