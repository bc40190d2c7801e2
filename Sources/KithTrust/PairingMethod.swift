/// How a peer came to be trusted.
public enum PairingMethod: String, Sendable, Hashable, CaseIterable {
    /// Two people compared a number.
    case number
    /// By an invitation code.
    case invitation
    /// Somebody typed its ID.
    case id
    /// By a certificate of the site's own authority, which it has to show each time.
    case site
}
