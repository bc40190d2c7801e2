import KithDocuments

/// A revision of a document that was refused before, and is now at the receiver.
public struct ReplicationAcceptance: Sendable {
    /// The collection.
    public let collection: CollectionName
    /// The document and its revision.
    public let name: RevisionName
    /// Whether it went from here to the peer.
    public let isOutgoing: Bool
}
