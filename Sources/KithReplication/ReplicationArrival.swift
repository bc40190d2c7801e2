import KithDocuments

/// A revision that got to its receiver on a link.
public struct ReplicationArrival: Sendable {
    /// The collection.
    public let collection: CollectionName
    /// The document and its revision.
    public let name: RevisionName
    /// Whether it went from here to the peer.
    public let isOutgoing: Bool
}
