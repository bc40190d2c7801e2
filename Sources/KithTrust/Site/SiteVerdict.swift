import KithDocuments

/// What a site's authority says of a certificate.
public enum SiteVerdict: Sendable {
    /// It is one of a node of this site, and good now.
    case member(SiteMember)
    /// Somebody else has signed it: what the authority says is nothing.
    case ofAnother
    /// The authority has signed it, and it is not good now, or not for a node. The error names the node and the date.
    case refused(KithError, SiteFault)
}
