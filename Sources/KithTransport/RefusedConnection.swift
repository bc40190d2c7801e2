import KithDocuments

/// A connection that a listener accepted but that never became ready.
public struct RefusedConnection: Sendable {
    /// Why: `.notTrusted`, `.wrongKey`, `.tlsFailed`, `.timedOut`, `.connectionLost`, `.tooLarge` (too many at once).
    public let error: KithError
    /// The other end, for logs.
    public let remoteName: String
    /// The certificate it has shown, if it came that far; its key is not proved.
    public let certificate: PeerCertificate?
}
