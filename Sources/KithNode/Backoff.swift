/// How long to wait before trying again: doubling from a minimum to a maximum, of which a random part is taken away.
struct Backoff {
    let secondsMin: Double
    let secondsMax: Double
    private(set) var failures = 0

    init(secondsMin: Double = NodeLimits.redialSecondsMin, secondsMax: Double = NodeLimits.redialSecondsMax) {
        self.secondsMin = secondsMin
        self.secondsMax = secondsMax
    }

    /// Counts a failure and gives the wait after it.
    ///
    /// - Parameter random: a number from 0 to 1 that decides how much of the upper half is taken away.
    mutating func nextSeconds(random: Double) -> Double {
        let full = min(secondsMax, secondsMin * Double(1 << min(failures, 20)))
        failures += 1
        return full * (1 - random / 2)
    }

    mutating func reset() { failures = 0 }
}
