/// How a database is shared with a peer, as one of them or all of them are set.
public struct PeerSharing: Sendable, Hashable {
    /// What the peer may do; `nil` where nothing was said.
    public var access: PeerAccess?
    /// When it is replicated; `nil` where nothing was said.
    public var replication: PeerReplication?

    /// Makes a value.
    public init(access: PeerAccess? = nil, replication: PeerReplication? = nil) {
        self.access = access
        self.replication = replication
    }

    /// Whether it says nothing.
    public var isEmpty: Bool { access == nil && replication == nil }
}
