/// The numbers of this room, each with what it does.
public enum AccessLimits {
    /// How many users there are at most.
    public static let usersMax = 10_000
    /// Bytes of a name of a user or a role.
    public static let nameBytesMax = 128
    /// Roles of one user, and names or roles in one list of `SecurityRules`.
    public static let rolesMax = 256
    /// Bytes that a password has at least (NIST SP 800-63B §5.1.1.2) …
    public static let passwordBytesMin = 8
    /// … and at most, so that nobody makes this node hash a book.
    public static let passwordBytesMax = 1_024
    /// The largest file of users that is read: well above what `usersMax` ordinary users need.
    public static let fileBytesMax = 16 << 20
    /// Passwords that are verified at the same time: each takes 32 MiB for a quarter of a second of one core.
    public static let verificationsAtOnceMax = 2
    /// Right credentials that are remembered, so that a client with Basic authentication costs one verification …
    public static let rememberedMax = 1_000
    /// … for so many seconds.
    public static let rememberedSeconds: UInt64 = 300
    /// How long a session lasts from its beginning, in seconds; as long as CouchDB's.
    public static let sessionSeconds: UInt64 = 600
    /// Failures that an address has free …
    public static let freeFailures = 3
    /// … before each further one doubles the time that it waits, from half a second up to this, in seconds …
    public static let waitSecondsMax = 60.0
    /// … and after so many seconds without one it is forgotten.
    public static let failuresForgottenSeconds: UInt64 = 900
    /// Addresses with failures that are remembered; beyond it the oldest is forgotten.
    public static let addressesMax = 10_000
}
