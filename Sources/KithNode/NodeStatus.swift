import KithDocuments
import KithTrust

/// How a node stands: what `kith status` shows and what `GET /_kith/status` answers, in version 1.
///
/// `nil` is "unknown" and never stands for nothing.
public struct NodeStatus: Sendable {
    /// How well the node is.
    public enum Health: String, Sendable {
        case ok
        /// It runs, and something wants a person's attention.
        case attention
        /// It runs, and replication is stopped by an error.
        case error
    }

    /// What a peer is doing.
    public enum PeerState: String, Sendable {
        case inSync, syncing, connecting, offline, blocked
    }

    /// A database of the node.
    public struct DatabaseStatus: Sendable {
        public var name: String
        public var documents: Int
        public var bytes: Int64
        public var sequence: UInt64
        public var conflicts: Int
    }

    /// One database, as replicated with one peer.
    public struct SharedDatabase: Sendable {
        public var name: String
        public var state: PeerState
        public var toSend: Int?
        public var toReceive: Int?
        public var completed: Int
        public var total: Int
        public var refused: Int
        public var lastError: String?
        public var lastErrorAt: Int64?
        public var lastInSyncAt: Int64?
    }

    /// A node that this one trusts.
    public struct PeerStatus: Sendable {
        public var name: String
        public var id: NodeID
        public var state: PeerState
        /// Since when it is in this state.
        public var since: Int64?
        public var toSend: Int?
        public var toReceive: Int?
        public var lastInSyncAt: Int64?
        public var address: String?
        public var tls: String?
        public var problem: String?
        public var databases: [SharedDatabase]
    }

    /// A node that was seen and is not trusted.
    public struct NearbyNode: Sendable {
        public var name: String
        public var id: String
        public var address: String
    }

    /// Something that wants attention, with the command that helps.
    public struct Problem: Sendable {
        public var code: String
        public var severity: Health
        public var subject: String
        public var text: String
        public var command: String?
    }

    /// A document with more than one live leaf.
    public struct ConflictStatus: Sendable {
        public var database: String
        public var id: String
        public var versions: Int
    }

    /// Whether other nodes are looked for.
    public enum DiscoveryStatus: Sendable {
        case on(interfaces: [String])
        case off(reason: String, remedy: String?)
    }

    public var name: String
    public var id: NodeID
    public var version: String
    public var startedAt: Int64
    public var listening: [String]
    public var port: UInt16
    public var discovery: DiscoveryStatus
    public var databases: [DatabaseStatus]
    public var peers: [PeerStatus]
    public var nearby: [NearbyNode]
    public var conflicts: [ConflictStatus]
    public var problems: [Problem]

    /// The worst of the problems.
    public var health: Health {
        problems.contains { $0.severity == .error } ? .error : problems.isEmpty ? .ok : .attention
    }
}
