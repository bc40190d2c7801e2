/// A session as the cookie of one says it.
public struct UserSession: Hashable, Sendable {
    /// Whose it is.
    public var user: User
    /// When the password was typed, and when it ends unless it is prolonged, in seconds of a clock that nobody sets.
    public var begin: UInt64
    /// See `begin`.
    public var end: UInt64

    /// One that begins now.
    public init(of user: User, now: UInt64) {
        self.init(user: user, begin: now, end: now + AccessLimits.sessionSeconds)
    }

    init(user: User, begin: UInt64, end: UInt64) { (self.user, self.begin, self.end) = (user, begin, end) }

    /// The same with more time; nil where it has most of it left, or has lasted as long as it may.
    public func prolonged(now: UInt64) -> UserSession? {
        let end = min(now + AccessLimits.sessionSeconds, begin + AccessLimits.sessionSecondsMax)
        guard end >= self.end + AccessLimits.sessionSeconds / 10 else { return nil }
        return UserSession(user: user, begin: begin, end: end)
    }
}
