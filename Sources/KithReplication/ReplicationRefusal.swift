import KithDocuments

/// A revision that one side would not take, with the reason.
public struct ReplicationRefusal: Sendable {
    /// Who refused it.
    public enum Side: String, Sendable {
        /// This node refused what the peer sent, or cannot send what it has.
        case here
        /// The peer refused what this node sent.
        case peer
    }

    /// Stands in the place of a document's ID where a whole collection is not replicated; what is told anew by each link.
    public static let wholeCollection = "(the whole collection)"

    /// The collection.
    public let collection: CollectionName
    /// The document.
    public let id: String
    /// The revision.
    public let revision: String
    /// Who refused it.
    public let side: Side
    /// Whether it was to go from here to the peer.
    public let isOutgoing: Bool
    /// The kind of error.
    public let code: Int
    /// Why, in the words of the side that refused it, cut to a bounded length.
    public let reason: String
    /// When, in seconds since 1970.
    public let wallSeconds: Int64
}
