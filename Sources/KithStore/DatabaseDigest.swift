/// A fingerprint of all that converges between nodes: equal on two nodes exactly when they have the same documents with
/// the same leaves and bodies. Sequences and histories are not part of it.
public struct DatabaseDigest: Sendable, Equatable {
    /// SHA-256 as 64 hex digits.
    public let hex: String
    /// Documents whose winner is live.
    public let documents: Int
    /// Documents whose winner is a tombstone.
    public let deleted: Int
    /// Leaves of all documents.
    public let leafRevisions: Int
    /// Documents with more than one live leaf.
    public let conflicts: Int
}
