/// A node that shows a certificate of the site's authority.
public struct SiteMember: Sendable, Equatable {
    /// Who it is.
    public let id: NodeID
    /// The common name in its certificate.
    public let name: String
    /// Until when the certificate is valid, in seconds since 1970.
    public let validThroughSeconds: Int64
}
