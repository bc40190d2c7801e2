/// Slows down who guesses passwords: from an address with failures the next attempt waits, twice as long each time.
///
/// A right password does not make failures forgotten: with an account of his own somebody would buy free guesses at others.
/// Time is in seconds of a clock that nobody sets. Names have no part in it: else anybody could lock a user out.
public struct LoginThrottle: Sendable {
    private struct Failures: Sendable {
        var count: Int
        /// When the last one was.
        var last: Double
    }

    private var byAddress: [String: Failures] = [:]

    /// Nobody has failed yet.
    public init() {}

    /// How many addresses are remembered.
    var count: Int { byAddress.count }

    /// How many seconds an address has to wait before its next attempt is looked at; 0 when it need not.
    public func wait(of address: String, now: Double) -> Double {
        guard let failures = byAddress[address], failures.count > AccessLimits.freeFailures else { return 0 }
        let doubled = min(failures.count - AccessLimits.freeFailures - 1, 16)
        let wait = min(0.5 * Double(1 << doubled), AccessLimits.waitSecondsMax)
        return max(0, failures.last + wait - now)
    }

    /// Notes a wrong password or an unknown name.
    public mutating func noteFailure(of address: String, now: Double) {
        let forgotten = Double(AccessLimits.failuresForgottenSeconds)
        if let failures = byAddress[address], now - failures.last < forgotten {
            byAddress[address] = Failures(count: min(failures.count + 1, 1_000), last: now)
            return
        }
        byAddress[address] = Failures(count: 1, last: now)
        guard byAddress.count > AccessLimits.addressesMax else { return }
        byAddress = byAddress.filter { now - $0.value.last < forgotten }
        // Seldom: a tenth at once, so that it is not gone through for each.
        guard byAddress.count > AccessLimits.addressesMax else { return }
        for (old, _) in byAddress.sorted(by: { $0.value.last < $1.value.last }).prefix(AccessLimits.addressesMax / 10) {
            byAddress[old] = nil
        }
    }
}
