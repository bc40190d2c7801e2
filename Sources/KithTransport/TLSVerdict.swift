import KithDocuments

/// The decision about a peer's certificate.
public enum TLSVerdict: Sendable {
    /// The handshake goes on.
    case trusted
    /// The handshake is aborted with the alert `unknown_ca` (RFC 8446, section 6.2), which says nothing else to the
    /// peer; this side's connection ends with the error.
    case refused(KithError)
}

/// Decides about a peer's certificate, on the loop's thread, so it must not block. The peer's possession of the key is
/// proved by the handshake itself, before the connection becomes ready.
public typealias TLSVerify = @Sendable (PeerCertificate) -> TLSVerdict
