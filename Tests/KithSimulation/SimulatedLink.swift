import KithDocuments
import KithReplication
import KithWire

/// A connection between two nodes, as each end sees it. What goes in one direction keeps its order, as TCP does.
final class SimulatedLink {
    /// One end: the session there, and what is on its way to it.
    struct End {
        let node: Int
        /// Which of the node's databases it is about.
        let databaseNumber: Int
        var session: ReplicationSession?
        /// What the node at this end allows.
        var directions = ReplicationDirections.both
        /// What it lets go to the other.
        var filter: SimulatedFilter?
        /// Makes bytes of frames, where the connection carries bytes.
        var webSocket: WebSocketMachine?
        /// What arrived while the session was congested.
        var arrived: [[UInt8]] = []
        /// Pieces on their way to this end or waiting at it.
        var inFlight = 0
        /// When the last piece on its way to this end arrives.
        var lastArrivalSeconds = 0.0
        /// How long this end takes after each piece before it reads the next one.
        var readPauseSeconds = 0.0
        var readsAgainAtSeconds = 0.0
        /// Nothing arrives here before.
        var stalledUntilSeconds = 0.0
        /// Nothing arrives here any more after that.
        var deafAfterSeconds = Double.infinity
        var scheduledTickSeconds: Double?
        /// The last sequence of each collection, as the session was told.
        var toldThrough: [CollectionName: UInt64] = [:]
        /// What the other end has was compared with the truth up to these sequences of this end; nothing yet where there is none.
        var provenThrough: [CollectionName: UInt64] = [:]
    }

    let id: Int
    /// `ends[0]` opened the link.
    var ends: [End]
    /// Whether it ends when everything has travelled that was there at its beginning.
    var isOnce = false
    /// The only documents of a link that is once; `nil`: all.
    var documentIDs: Set<DocumentID>?
    /// Of each collection the last sequence at each end when the link began.
    var beganThrough: [[CollectionName: UInt64]] = [[:], [:]]
    /// The client that opened it, and what it has of the connection: `ends[0]` has no session then.
    var client: SimulatedClient?
    var replicator: ClientReplicator?

    init(id: Int, active: SimulatedNode, passive: SimulatedNode, carriesBytes: Bool) {
        self.id = id
        ends = [active, passive].map { End(node: $0.index, databaseNumber: $0.databaseNumber) }
        guard carriesBytes else { return }
        // The key changes nothing that the other end sees.
        ends[0].webSocket = WebSocketMachine(role: .client, makeMaskKey: { 0x5A5A_A5A5 })
        ends[1].webSocket = WebSocketMachine(role: .server)
    }

    /// A connection of a client to a node.
    init(id: Int, client: SimulatedClient, replicator: ClientReplicator, node: SimulatedNode) {
        self.id = id
        ends = [
            End(node: -1, databaseNumber: 0), End(node: node.index, databaseNumber: node.databaseNumber),
        ]
        self.client = client
        self.replicator = replicator
    }

    /// Whether changes may travel to one end from the other.
    func allows(to end: Int) -> Bool {
        ends[end].directions.contains(.receive) && ends[1 - end].directions.contains(.send)
    }

    /// Nothing arrives at either end after a time.
    func cut(afterSeconds seconds: [Double]) {
        for end in 0..<2 { ends[end].deafAfterSeconds = min(ends[end].deafAfterSeconds, seconds[end]) }
    }
}
