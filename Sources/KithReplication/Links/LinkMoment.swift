/// When something happens, and the chance that decides about waits; given from outside, so that a test can give it too.
package struct LinkMoment: Sendable {
    /// The monotonic clock, in seconds.
    package var seconds: Double
    /// A random number from 0 to 1.
    package var chance: Double
    /// Over how long dials that are due at once are to be spread, in seconds; see `LinkLimits.spreadSecondsPerLink`.
    package var spreadSeconds: Double

    package init(seconds: Double, chance: Double, unlinkedCount: Int) {
        self.seconds = seconds
        self.chance = chance
        spreadSeconds = min(LinkLimits.spreadSecondsMax, LinkLimits.spreadSecondsPerLink * Double(unlinkedCount))
    }
}
