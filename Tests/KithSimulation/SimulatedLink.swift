import KithReplication

/// A connection between two nodes, as each end sees it. Frames of one direction keep their order, as TCP does.
final class SimulatedLink {
    /// One end: the session there, and what is on its way to it.
    struct End {
        let node: Int
        var session: ReplicationSession?
        /// Frames that arrived while the session was congested.
        var arrived: [[UInt8]] = []
        /// Frames on their way to this end or waiting at it.
        var inFlight = 0
        /// When the last frame on its way to this end arrives.
        var lastArrivalSeconds = 0.0
        var scheduledTickSeconds: Double?
        /// The database's last sequence, as the session was told.
        var toldThrough: UInt64 = 0
        /// What the other end has was compared with the truth up to this sequence of this end; `nil`: nothing yet.
        var provenThrough: UInt64?
    }

    let id: Int
    /// `ends[0]` opened the link.
    var ends: [End]
    /// Frames are lost, and neither end knows yet.
    var isCut = false

    init(id: Int, active: Int, passive: Int) {
        self.id = id
        ends = [End(node: active), End(node: passive)]
    }
}
