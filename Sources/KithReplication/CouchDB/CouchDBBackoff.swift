/// How long to wait before the next session: from one second to two minutes, twice as long each time, with jitter, and not
/// before the server wants.
public struct CouchDBBackoff: Sendable {
    /// The first wait at most.
    public static let secondsMin = 1.0
    /// The longest wait of its own.
    public static let secondsMax = 120.0
    /// What a server can ask for with `Retry-After` at most.
    public static let retryAfterSecondsMax = 600.0

    /// Sessions that failed since something went well.
    public private(set) var failures = 0

    /// Nothing has failed.
    public init() {}

    /// Says that something has travelled, or that both sides have the same.
    public mutating func succeeded() { failures = 0 }

    /// Says that a session failed.
    ///
    /// - Parameters:
    ///   - retryAfterSeconds: what the server asks for.
    ///   - random: from 0 to 1, so that many nodes do not come back together.
    /// - Returns: how long to wait, in seconds.
    public mutating func failed(retryAfterSeconds: Double?, random: Double) -> Double {
        failures += 1
        let longest = min(Self.secondsMax, Self.secondsMin * Double(1 << min(failures, 20)))
        let own = max(Self.secondsMin, longest * (0.5 + 0.5 * min(max(random, 0), 1)))
        return max(own, min(retryAfterSeconds ?? 0, Self.retryAfterSecondsMax))
    }
}
