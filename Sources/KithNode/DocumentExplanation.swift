import KithDocuments
import KithStore
import KithTrust

/// Why a document is, or is not, on each peer.
public struct DocumentExplanation: Sendable {
    /// How it stands with one peer.
    public enum State: String, Sendable {
        /// The peer has it as it is here.
        case there
        /// It is still to be sent.
        case waiting
        /// One side has refused the current revision.
        case refused
        /// The peer does not have the database, or may not know of it.
        case notShared
        /// Nothing goes to the peer: it may not read, or takes nothing.
        case notSent
        /// Nothing is known of what the peer has.
        case unknown
    }

    /// One peer.
    public struct OnPeer: Sendable {
        /// The peer.
        public var peer: Peer
        /// How the document stands with it.
        public var state: State
        /// Whether there is a link.
        public var isConnected: Bool
        /// Changed documents that come before it, where it waits.
        public var before: Int?
        /// Why it was refused on its way to the peer.
        public var sent: DocumentRefusal?
        /// Why a revision of the peer's was refused on its way to here.
        public var received: DocumentRefusal?
    }

    /// One CouchDB server.
    public struct OnServer: Sendable {
        /// The URL of its database.
        public var url: String
        /// How the document stands with it.
        public var state: State
        /// Whether a replication with it is under way.
        public var isConnected: Bool
        /// Why it was refused on its way to the server.
        public var sent: DocumentRefusal?
        /// Why a revision of the server's was refused on its way to here.
        public var received: DocumentRefusal?
    }

    /// The document as it is here; nil when it is not, or is only known as refused.
    public var document: StoredDocument?
    /// Each peer that was asked for, by name.
    public var peers: [OnPeer]
    /// Each CouchDB server with which the database is being replicated, or that is concerned by a refusal.
    public var servers: [OnServer] = []
}
