/// Slows down who guesses passwords: from an address with failures the next attempt waits, twice as long each time.
///
/// A right password does not make failures forgotten: with an account of his own somebody would buy free guesses at others.
/// While an address waits, a name with which it has not failed yet has one attempt all the same, so that a program with an old password
/// keeps nobody else out; that ends after `AccessLimits.failedNamesMax` names. No name waits wherever it is tried from: else anybody
/// could lock a user out. Time is in seconds of a clock that nobody sets.
public struct LoginThrottle: Sendable {
    private struct Failures: Sendable {
        var count: Int
        /// When the last one was.
        var last: Double
        /// The names with which it has failed, up to `AccessLimits.failedNamesMax`.
        var names: Set<[UInt8]>
    }

    private let freeFailures: Int
    private var byAddress: [String: Failures] = [:]

    /// Nobody has failed yet.
    ///
    /// - Parameter freeFailures: that an address has before it waits.
    public init(freeFailures: Int = AccessLimits.freeFailures) { self.freeFailures = freeFailures }

    /// How many addresses are remembered.
    var count: Int { byAddress.count }

    /// How many seconds an address has to wait before its next attempt is looked at; 0 when it need not.
    public func wait(of address: String, as name: String, now: Double) -> Double {
        guard let failures = byAddress[address], failures.count > freeFailures else { return 0 }
        // No user has a longer one, so that it is always the first of its kind.
        let isFresh = name.utf8.count <= AccessLimits.nameBytesMax && !failures.names.contains(Array(name.utf8))
        if isFresh, failures.names.count < AccessLimits.failedNamesMax { return 0 }
        let doubled = min(failures.count - freeFailures - 1, 16)
        let wait = min(0.5 * Double(1 << doubled), AccessLimits.waitSecondsMax)
        return max(0, failures.last + wait - now)
    }

    /// Notes a wrong password or an unknown name.
    public mutating func noteFailure(of address: String, as name: String, now: Double) {
        let forgotten = Double(AccessLimits.failuresForgottenSeconds)
        let key = Array(name.utf8.prefix(AccessLimits.nameBytesMax + 1))
        if var failures = byAddress[address], now - failures.last < forgotten {
            failures.count = min(failures.count + 1, 1_000)
            failures.last = now
            if failures.names.count < AccessLimits.failedNamesMax { failures.names.insert(key) }
            byAddress[address] = failures
            return
        }
        byAddress[address] = Failures(count: 1, last: now, names: [key])
        guard byAddress.count > AccessLimits.addressesMax else { return }
        byAddress = byAddress.filter { now - $0.value.last < forgotten }
        // Seldom: a tenth at once, so that it is not gone through for each.
        guard byAddress.count > AccessLimits.addressesMax else { return }
        for (old, _) in byAddress.sorted(by: { $0.value.last < $1.value.last }).prefix(AccessLimits.addressesMax / 10) {
            byAddress[old] = nil
        }
    }
}
