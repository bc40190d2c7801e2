/// The time as a replication machine is told it: it never reads a clock itself.
public struct ReplicationInstant: Sendable {
    /// Seconds of a clock that only goes forward. Orders events and measures delays.
    public var monotonicSeconds: Double
    /// Seconds since 1970. For people only: nothing is ordered by it.
    public var wallSeconds: Int64

    /// Makes an instant.
    public init(monotonicSeconds: Double, wallSeconds: Int64) {
        self.monotonicSeconds = monotonicSeconds
        self.wallSeconds = wallSeconds
    }
}
