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
    /// Passwords that are verified or hashed at the same time: each takes 32 MiB for a quarter of a second of one core.
    public static let verificationsAtOnceMax = 1
    /// Right credentials that are remembered, so that a client with Basic authentication costs one verification …
    public static let rememberedMax = 1_000
    /// … for so many seconds after they were used last.
    public static let rememberedSeconds: UInt64 = 300
    /// How long a session lasts from its beginning or from when it was prolonged, in seconds; as long as CouchDB's …
    public static let sessionSeconds: UInt64 = 600
    /// … and how long in all, however often it is prolonged.
    public static let sessionSecondsMax: UInt64 = 86_400
    /// Failures that an address has free, and all of a network of IPv6 together, of which one machine may have every address …
    public static let freeFailures = 3
    /// See `freeFailures`.
    public static let networkFreeFailures = 30
    /// Names with which an address fails before it waits whatever name it tries.
    public static let failedNamesMax = 8
    /// … before each further one doubles the time that it waits, from half a second up to this, in seconds …
    public static let waitSecondsMax = 60.0
    /// … and after so many seconds without one it is forgotten.
    public static let failuresForgottenSeconds: UInt64 = 900
    /// Addresses with failures that are remembered; beyond it the oldest is forgotten.
    public static let addressesMax = 10_000
}
