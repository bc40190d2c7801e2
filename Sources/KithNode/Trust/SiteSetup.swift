/// How a new home becomes one of a site: the files that its operator gives.
public struct SiteSetup: Sendable {
    /// The certificate of the site's authority, PEM.
    public var authorityPath: String
    /// Its revocation list, PEM; `nil` for none yet.
    public var listPath: String?
    /// The node's certificate, where the operator has made it together with the key.
    public var certificatePath: String?
    /// The node's key, which only its owner can read; it is copied.
    public var keyPath: String?
    /// What other nodes of the site may do here.
    public var grants: SiteGrants

    /// Makes a value.
    public init(authorityPath: String, grants: SiteGrants = SiteGrants()) {
        self.authorityPath = authorityPath
        self.grants = grants
    }
}
