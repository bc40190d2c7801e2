/// When a database is replicated with a peer.
public enum PeerReplication: String, Sendable, Hashable, CaseIterable {
    /// Always, as long as both are there.
    case continuous
    /// When somebody asks for it.
    case manual
}
