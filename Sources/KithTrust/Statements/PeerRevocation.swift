import KithDocuments

/// That a peer is revoked, and who has said so.
public struct PeerRevocation: Sendable, Hashable {
    /// Who has said it.
    public var by: NodeID
    /// What it was called here then; `nil` when this node has said it itself.
    public var byName: String?
    /// When, in seconds since 1970 by its clock.
    public var seconds: Int64
    /// Why; may be empty.
    public var reason: String

    /// Whether a person at this node has said it: then it is no news to anybody.
    public var isOwn: Bool { byName == nil }
}
