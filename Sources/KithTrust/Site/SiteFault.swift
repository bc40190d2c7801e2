/// Why a certificate of the site's authority is not taken, as TLS can tell it to the other side.
public enum SiteFault: Sendable {
    /// Its time is over.
    case expired
    /// The authority's list names it.
    case revoked
    /// Anything else.
    case other
}
