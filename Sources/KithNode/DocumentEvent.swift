import KithDocuments
import KithTrust

/// Something that happened to a document on its way to a peer or from one.
public struct DocumentEvent: Sendable {
    /// What happened.
    public enum Outcome: String, Sendable {
        /// The receiver has stored it.
        case travelled
        /// One side would not take it, or could not send it.
        case refused
    }

    /// The database.
    public let database: DatabaseName
    /// The collection.
    public let collection: CollectionName
    /// With whom.
    public let peer: NodeID
    /// The document, as its sender calls it: a refused one can have a name that is none here.
    public let id: String
    /// The revision.
    public let revision: String
    /// Whether it was to go from here to the peer.
    public let isOutgoing: Bool
    /// What happened.
    public let outcome: Outcome
    /// Why it was refused; nil otherwise.
    public let error: KithError?
}
