import KithReplication

/// What one node has towards another: the product's keeper and heartbeat, and the connections that they decide about.
final class SimulatedLinkEnd {
    let node: Int
    let peer: Int
    var keeper: LinkKeeper
    var link: SimulatedConnection?
    var heartbeat: LinkHeartbeat?
    var dial: SimulatedConnection?
    var hasAddress = true
    /// Whether it takes no link of the peer: not paired, or no such database.
    var refuses = false
    var lastDialSeconds: Double?

    init(node: Int, peer: Int) {
        self.node = node
        self.peer = peer
        keeper = LinkKeeper(leads: node < peer)
    }

    /// Forgets everything: the process is gone.
    func forget() {
        keeper = LinkKeeper(leads: node < peer)
        link = nil
        heartbeat = nil
        dial = nil
        lastDialSeconds = nil
    }
}
