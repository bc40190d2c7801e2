import KithDocuments

/// The decision about a peer's certificate.
public enum TLSVerdict: Sendable {
    /// The handshake goes on.
    case trusted
    /// The handshake is aborted with the alert `unknown_ca` (RFC 8446, section 6.2), which says nothing else to the
    /// peer; this side's connection ends with the error.
    case refused(KithError)
    /// As `refused`, with the alert `certificate_expired`: the dates of the certificate count, and are not good.
    case outdated(KithError)
    /// As `refused`, with the alert `certificate_revoked`.
    case revoked(KithError)
}

/// Decides about a peer's certificate, on the loop's thread, so it must not block. The peer's possession of the key is
/// proved by the handshake itself, before the connection becomes ready.
public typealias TLSVerify = @Sendable (PeerCertificate) -> TLSVerdict
