import KithDocuments
import KithReplication
import KithStore
import KithTrust

/// How a node stands: what `kith status` shows and what `GET /_kith/status` answers, in version 1.
///
/// `nil` is "unknown" and never stands for nothing.
public struct NodeStatus: Sendable {
    /// How well the node is.
    public enum Health: String, Sendable {
        /// Nothing wants attention.
        case ok
        /// It runs, and something wants a person's attention.
        case attention
        /// It runs, and replication is stopped by an error.
        case error
    }

    /// What a peer is doing.
    public enum PeerState: String, Sendable {
        /// Both sides have the same.
        case inSync
        /// Changes are on their way.
        case syncing
        /// A link is being made.
        case connecting
        /// There is no link.
        case offline
        /// Nothing is exchanged until a person decides.
        case blocked
        /// There is no link before somebody asks for one.
        case onDemand
        /// The peer may do nothing with any database.
        case notShared
    }

    /// A database of the node.
    public struct DatabaseStatus: Sendable {
        /// The name, for people.
        public var name: String
        /// Live documents.
        public var documents: Int
        /// Size on disk, in bytes.
        public var bytes: Int64
        /// The last sequence.
        public var sequence: UInt64
        /// Documents with more than one live leaf.
        public var conflicts: Int
        /// What is done by itself about them.
        public var mergePolicy: MergePolicy
    }

    /// One database, as replicated with one peer.
    public struct SharedDatabase: Sendable {
        /// The name, for people.
        public var name: String
        /// What is being done.
        public var state: PeerState
        /// What this node lets the peer do.
        public var access: PeerAccess
        /// What may travel, as far as the peer has not said that it does not: to it and from it.
        public var directions: ReplicationDirections
        /// Changed documents that the other side has not acknowledged.
        public var toSend: Int?
        /// The other side's changed documents that are not stored here.
        public var toReceive: Int?
        /// Documents done of this round.
        public var completed: Int
        /// Documents that this round began with.
        public var total: Int
        /// Documents that one side refused, and that were not taken since; at most
        /// `NodeLimits.refusalsRememberedMax` are counted.
        public var refused: Int
        /// The last of them.
        public var refusals: [DocumentRefusal]
        /// What went wrong last, until it went well again.
        public var lastError: String?
        /// When, in seconds since 1970.
        public var lastErrorAt: Int64?
        /// When both sides last had the same, in seconds since 1970.
        public var lastInSyncAt: Int64?
    }

    /// A node that this one trusts.
    public struct PeerStatus: Sendable {
        /// The name, for people.
        public var name: String
        /// Who it is.
        public var id: NodeID
        /// What is being done.
        public var state: PeerState
        /// Since when it is in this state.
        public var since: Int64?
        /// Changed documents that the other side has not acknowledged.
        public var toSend: Int?
        /// The other side's changed documents that are not stored here.
        public var toReceive: Int?
        /// When both sides last had the same, in seconds since 1970.
        public var lastInSyncAt: Int64?
        /// Where it is reached.
        public var address: String?
        /// The TLS version of the link.
        public var tls: String?
        /// Why it is not in sync.
        public var problem: String?
        /// Each database, by name.
        public var databases: [SharedDatabase]
    }

    /// A node that was seen and is not trusted.
    public struct NearbyNode: Sendable {
        /// The name, for people.
        public var name: String
        /// Who it is.
        public var id: String
        /// Where it is reached.
        public var address: String
        /// When it has asked to pair, in seconds since 1970; nil when it does not.
        public var askedAt: Int64?
    }

    /// Something that wants attention, with the command that helps.
    public struct Problem: Sendable {
        /// What kind of problem; never reused for another.
        public var code: String
        /// How bad it is.
        public var severity: Health
        /// What or whom it concerns.
        public var subject: String
        /// One sentence for people.
        public var text: String
        /// What to type about it.
        public var command: String?
    }

    /// A document with more than one live leaf.
    public struct ConflictStatus: Sendable {
        /// The database.
        public var database: String
        /// Who it is.
        public var id: String
        /// How many live leaves there are.
        public var versions: Int
    }

    /// Whether other nodes are looked for.
    public enum DiscoveryStatus: Sendable {
        /// It looks, on these interfaces.
        case on(interfaces: [String])
        /// It does not, and why.
        case off(reason: String, remedy: String?)
    }

    /// The name, for people.
    public var name: String
    /// Who it is.
    public var id: NodeID
    /// The version of the program.
    public var version: String
    /// When it was started, in seconds since 1970.
    public var startedAt: Int64
    /// The addresses on which it listens.
    public var listening: [String]
    /// The TCP port on which it listens.
    public var port: UInt16
    /// Whether other nodes are looked for.
    public var discovery: DiscoveryStatus
    /// Each database, by name.
    public var databases: [DatabaseStatus]
    /// The trusted nodes, by name.
    public var peers: [PeerStatus]
    /// Databases that are replicated with CouchDB servers.
    public var servers: [ServerStatus]
    /// Nodes that were seen and are not trusted.
    public var nearby: [NearbyNode]
    /// Documents with more than one live leaf.
    public var conflicts: [ConflictStatus]
    /// What wants attention.
    public var problems: [Problem]

    /// The worst of the problems.
    public var health: Health {
        problems.contains { $0.severity == .error } ? .error : problems.isEmpty ? .ok : .attention
    }
}
