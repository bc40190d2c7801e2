import KithDocuments

/// What a link replicates, and under which names its progress is kept.
public struct ReplicationConfiguration: Sendable {
    /// Which side opened the link.
    public var role: ReplicationRole
    /// The name of the checkpoint that this node keeps on both sides when it is active (`client` in the protocol). It must change when
    /// the database's private ID, this node or the peer changes.
    public var checkpointName: String
    /// The local document that remembers how much the peer has, for status while it is away.
    public var progressName: String
    /// Whether the peer is a Kith node: then all leaves travel and lists say how much remains.
    public var peerIsKith: Bool
    /// What this node allows on the link: whether it gives its changes to the peer, and whether it takes the peer's.
    public var directions: ReplicationDirections
    /// Whether changes made later travel as well. An active session that is not continuous ends by itself, with close code 1000, when
    /// everything that was there at its beginning has travelled.
    public var isContinuous = true
    /// The only documents that an active session asks for and sends; `nil`: all.
    public var documentIDs: Set<DocumentID>?
    /// On a link beside the one that a pair keeps: what is allowed here between the two. When less than that is asked for, what is
    /// done says nothing of how the pair stands. `nil` on the pair's own link.
    public var pairDirections: ReplicationDirections?
    /// Stands for the filter that the store's executor has for this link, if it has one: it is in the positions that a peer which
    /// pulls keeps for us, so that those of another filter count for nothing.
    public var filterTag: String?
    /// The windows and limits.
    public var limits: ReplicationLimits

    /// Makes a configuration.
    public init(
        role: ReplicationRole, checkpointName: String, progressName: String, peerIsKith: Bool,
        directions: ReplicationDirections = .both, isContinuous: Bool = true, documentIDs: Set<DocumentID>? = nil,
        pairDirections: ReplicationDirections? = nil, filterTag: String? = nil,
        limits: ReplicationLimits = ReplicationLimits()
    ) {
        self.role = role
        self.checkpointName = checkpointName
        self.progressName = progressName
        self.peerIsKith = peerIsKith
        self.directions = directions
        self.isContinuous = isContinuous
        self.documentIDs = documentIDs
        self.pairDirections = pairDirections
        self.filterTag = filterTag
        self.limits = limits
    }
}
