/// Lets so many things happen at once, and one more each time that some seconds have passed.
public struct TokenBucket: Sendable, Equatable {
    private let capacity: Double
    private let secondsPerToken: Double
    private var tokens: Double
    private var filledAt: Double

    /// A full one.
    ///
    /// - Parameters:
    ///   - capacity: how many at once.
    ///   - secondsPerToken: after how many seconds there is one more.
    ///   - now: in seconds of a clock that does not go back.
    public init(capacity: Int, secondsPerToken: Double, atSeconds now: Double) {
        self.capacity = Double(capacity)
        self.secondsPerToken = secondsPerToken
        tokens = Double(capacity)
        filledAt = now
    }

    /// Takes one, if there is one; else nothing changes.
    public mutating func take(atSeconds now: Double) -> Bool {
        let there = tokens(atSeconds: now)
        guard there >= 1 else { return false }
        tokens = there - 1
        filledAt = max(filledAt, now)
        return true
    }

    /// Whether nothing is taken from it any more, so that a new one is as good.
    public func isFull(atSeconds now: Double) -> Bool { tokens(atSeconds: now) >= capacity }

    private func tokens(atSeconds now: Double) -> Double {
        min(capacity, tokens + max(0, now - filledAt) / secondsPerToken)
    }
}
