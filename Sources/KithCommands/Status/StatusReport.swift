import KithDocuments

/// What the node answers to `GET /_kith/status`, version 1, as far as the screens need it.
///
/// Fields may be missing, and new ones may come: everything that is not understood counts as unknown.
struct StatusReport: Equatable, Sendable {
    /// Whether other nodes are looked for.
    struct Discovery: Equatable, Sendable {
        var isOn = true
        var interfaces: [String] = []
        var reason: String?
        var remedy: String?
    }

    /// One database of the node.
    struct Database: Equatable, Sendable {
        var name = ""
        var documents = 0
        var bytes = 0
        var sequence = 0
        var conflicts = 0
    }

    /// What a peer, or one database with it, is doing.
    enum PeerState: String, Sendable {
        case inSync, syncing, connecting, offline, blocked, onDemand, notShared
        /// A state of a newer node.
        case unknown
    }

    /// A document that one side would not take.
    struct Refusal: Equatable, Sendable {
        /// Nil for the default one.
        var collection: String?
        var id = ""
        var isByPeer = false
        var code = 0
        var reason = ""
        var at: Instant?
    }

    /// One database as it stands with one peer.
    struct SharedDatabase: Equatable, Sendable {
        var name = ""
        var state = PeerState.unknown
        /// What this node lets the peer do: `both`, `read` or `write`.
        var access = "both"
        /// Whether changes may go to the peer, as far as is known.
        var sends = true
        /// Whether changes may come from the peer, as far as is known.
        var receives = true
        var toSend: Int?
        var toReceive: Int?
        var completed = 0
        var total = 0
        var refused = 0
        /// The last of them.
        var refusals: [Refusal] = []
        var lastError: String?
        var lastErrorAt: Instant?
        var lastInSyncAt: Instant?
    }

    /// A node that this one trusts.
    struct Peer: Equatable, Sendable {
        var name = ""
        var id = ""
        var fullID: String?
        var state = PeerState.unknown
        var since: Instant?
        var toSend: Int?
        var toReceive: Int?
        var lastInSyncAt: Instant?
        var address: String?
        var tls: String?
        var problem: String?
        var databases: [SharedDatabase] = []

        /// What the round under way began with, over all databases.
        var total: Int { databases.reduce(0) { $0 + $1.total } }
        /// How much of the round under way is done.
        var completed: Int { databases.reduce(0) { $0 + $1.completed } }
    }

    /// One database as it stands with a CouchDB server.
    struct Server: Equatable, Sendable {
        var url = ""
        var database = ""
        var state = ""
        var toSend: Int?
        var toReceive: Int?
        var refused = 0
        /// The last of them.
        var refusals: [Refusal] = []
        var lastError: String?
        var lastErrorAt: Instant?
        var retryAt: Instant?
        var lastInSyncAt: Instant?
    }

    /// A node that was seen and is not trusted.
    struct Nearby: Equatable, Sendable {
        var name = ""
        var id = ""
        var address = ""
        var askedAt: Instant?
    }

    /// How bad a problem is.
    enum Severity: String, Sendable { case attention, error }

    /// Something that wants attention.
    struct Problem: Equatable, Sendable {
        var code = ""
        var severity = Severity.attention
        var subject = ""
        var text = ""
        var command: String?
    }

    /// A document with more than one live leaf.
    struct Conflict: Equatable, Sendable {
        var database = ""
        var id = ""
        var versions = 0
    }

    var name = ""
    var id = ""
    var fullID: String?
    var version = ""
    var state = "running"
    var health = "ok"
    var startedAt: Instant?
    var listening: [String] = []
    var discovery = Discovery()
    var databases: [Database] = []
    var peers: [Peer] = []
    var servers: [Server] = []
    var nearby: [Nearby] = []
    var conflicts: [Conflict] = []
    var problems: [Problem] = []

    /// How many documents are in conflict, in all databases; `conflicts` holds the first of them only.
    var conflictCount: Int { max(conflicts.count, databases.reduce(0) { $0 + $1.conflicts }) }

    /// Whether syncing is stopped by an error.
    var isStopped: Bool { health == "error" || problems.contains { $0.severity == .error } }

    /// Whether a person should do something.
    var needsAttention: Bool {
        isStopped || health != "ok" || !problems.isEmpty || conflictCount > 0 || peers.contains { $0.state == .blocked }
    }

    /// The peer of this name or ID (short or whole, in any case).
    func peer(named text: String) -> Peer? {
        if let peer = peers.first(where: { DisplayText.same($0.name, text) }) { return peer }
        let plain = Self.plainID(text)
        guard plain.count >= 8 else { return nil }
        return peers.first { Self.plainID($0.id) == plain || $0.fullID.map(Self.plainID) == plain }
    }

    private static func plainID(_ text: String) -> [UInt8] {
        text.utf8.filter { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: " ") }.map {
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) ? $0 - 32 : $0
        }
    }
}
