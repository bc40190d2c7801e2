/// How long to wait before trying again, as a window that doubles with each failure: the wait is its lower half and a random
/// part of its upper half, so it is from the shortest wait to the longest.
package struct LinkBackoff: Sendable {
    private let secondsMin: Double
    private let secondsMax: Double
    private var failures = 0

    package init(secondsMin: Double, secondsMax: Double) {
        self.secondsMin = secondsMin
        self.secondsMax = secondsMax
    }

    /// Counts a failure and gives the window after it, in seconds.
    package mutating func nextWindowSeconds() -> Double {
        failures += 1
        return min(secondsMax, secondsMin * Double(1 << min(failures, 30)))
    }

    /// Begins anew.
    package mutating func reset() { failures = 0 }

    /// Counts as if there had been no more failures than these.
    package mutating func forgive(to failures: Int) { self.failures = min(self.failures, failures) }
}
