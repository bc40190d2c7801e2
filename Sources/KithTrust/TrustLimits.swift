/// The numbers of this room, each with what it does.
public enum TrustLimits {
    /// How many peers the book takes; more is refused, so that a loop somewhere cannot grow the file without end.
    public static let peersMax = 10_000
    /// How many characters (Unicode scalars) a name may have: what a certificate's common name may hold (RFC 5280,
    /// appendix A.1, `ub-common-name`).
    public static let nameCharactersMax = 64
    /// How many addresses the book keeps for one peer.
    public static let addressesPerPeerMax = 16
    /// Of how many databases of one peer the book says how they are shared; as many as a node has.
    public static let sharedDatabasesPerPeerMax = 1_000
    /// The longest address the book takes: a DNS name with its port.
    public static let addressBytesMax = 300
    /// The largest key or certificate file that is read; a real one has less than 1 kB.
    public static let pemFileBytesMax = 64 * 1024
    /// The largest book of peers that is read; well above what `peersMax` ordinary peers need.
    public static let bookFileBytesMax = 16 * 1024 * 1024
    /// How far in the past a new certificate begins, so that a peer whose clock is behind still sees it as valid.
    public static let certificateBackdateDays: Int32 = 1
    /// How long a new certificate is valid. Trust hangs on the key, so this is only for programs that insist on dates.
    public static let certificateValidDays: Int32 = 20 * 365
    /// The longest text that is looked at when a node ID is read; an ID with generous spaces is below 150.
    public static let nodeIDTextBytesMax = 512
    /// The longest statement of a node about keys (`TrustStatement`); a real one has at most 407 bytes.
    public static let statementBytesMax = 512
    /// The longest reason of a revocation.
    public static let reasonBytesMax = 200
    /// How many revocations of one node are kept; what is more does not count, so that nobody fills the book of others.
    public static let revocationsBySignerMax = 100
    /// How often one node may say anew at once, with a later time, that another is revoked: each time the whole site writes it down …
    public static let redatingsMax = 10
    /// … and after how many seconds once more. What comes meanwhile is taken then, the newest of it.
    public static let redatingSeconds = 360.0
    /// How many statements the book keeps in all, and one side tells in one exchange.
    public static let statementsMax = 1_000
    /// How many earlier keys of one node are known, and how often a node can rotate its key before it is paired anew.
    public static let formerKeysMax = 32
    /// Wrong signatures after which an exchange of statements ends: what a stranger can make this node compute.
    public static let wrongSignaturesMax = 4
    /// A certificate is renewed when it is valid for less than this. Half of its time, so that a node that is started once in
    /// ten years never has one that has ended.
    public static let certificateRenewDays = 10 * 365
    /// The largest revocation list of a site's authority that is read; room for some ten thousand certificates.
    public static let siteListBytesMax = 1024 * 1024
    /// The certificate of this node that a site's authority has signed is asked to be renewed when it is valid for less than this.
    public static let siteCertificateWarnDays = 30
    /// The longest `InvitationURI` that is read.
    public static let invitationURIBytesMax = 1024
    /// How long the text of an `InvitationURI` may become by its hints: what a QR code of 37 modules holds (ISO/IEC 18004, version 5,
    /// level L), which fits with its quiet zone on a terminal of 24 lines.
    public static let invitationURIBytesWanted = 106
    /// How many addresses an `InvitationURI` may have.
    public static let invitationURIAddressesMax = 4
}
