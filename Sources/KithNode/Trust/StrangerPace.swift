import KithTrust

/// How often strangers at an address may begin an exchange of statements: some at once, and then one after the other with pauses.
struct StrangerPace {
    /// By what addresses of one machine have in common (`PairingRoom.group`).
    private var buckets: [String: TokenBucket] = [:]

    /// - Parameters:
    ///   - group: whose addresses they are.
    ///   - now: in seconds of a clock that does not go back.
    mutating func mayBegin(_ group: String, atSeconds now: Double) -> Bool {
        if buckets.count >= NodeLimits.nearbyMax, buckets[group] == nil {
            buckets = buckets.filter { !$0.value.isFull(atSeconds: now) }
            // A new address may be anybody; one of those that have asked is let off for it.
            if buckets.count >= NodeLimits.nearbyMax, let any = buckets.keys.first { buckets[any] = nil }
        }
        return buckets[
            group,
            default: TokenBucket(
                capacity: NodeLimits.trustStrangersAtOnce, secondsPerToken: NodeLimits.trustStrangerSeconds,
                atSeconds: now)
        ].take(atSeconds: now)
    }
}
