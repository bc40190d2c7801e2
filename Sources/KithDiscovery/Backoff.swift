/// How long to wait before trying again: doubling from the shortest to the longest wait.
struct Backoff {
    private var next: Int64 = DiscoveryLimits.retryDelayMillisecondsMin

    /// The wait before the next attempt, in milliseconds.
    mutating func take() -> Int64 {
        defer { next = min(next * 2, DiscoveryLimits.retryDelayMillisecondsMax) }
        return next
    }

    /// Begins with the shortest wait again, after something worked.
    mutating func reset() { next = DiscoveryLimits.retryDelayMillisecondsMin }
}
