/// That a person at this node has overruled revocations of a node by another one, up to a time.
struct RevocationOverrule: Sendable, Hashable {
    /// Who has revoked.
    var by: NodeID
    /// Who was revoked.
    var of: NodeID
    /// The time of the last statement that is overruled.
    var seconds: Int64
}
