/// What a simulated mesh did, and what was wrong at the end.
public struct SimulationReport: Sendable {
    /// The seed that gives the same run again.
    public let seed: UInt64
    /// Faults that are reported of one run.
    static let failuresMax = 20
    /// What was wrong, in sentences; empty when every property held.
    public var failures: [String] = []
    /// A number over everything that happened, in order: equal for two runs of one seed.
    public var trace: UInt64 = 0xCBF2_9CE4_8422_2325
    /// Frames delivered.
    public var frames = 0
    /// Revisions that came to a node from another one.
    public var bodiesReceived = 0
    /// Those of them that the node did not have.
    public var bodiesNew = 0
    /// The most bytes of messages that waited to be sent on a link.
    public var messageBytesQueuedMax = 0
    /// Conflicts that nodes merged by themselves.
    public var merged = 0
    /// Writes acknowledged to their writer.
    public var acknowledged = 0
    /// Writes that failed because the disk was full, in the middle of them or at once.
    public var fullDisks = 0
    /// Conflicts at the end, on each node.
    public var conflicts = 0
    /// Replications that were to be once, and were.
    public var onceCompleted = 0
    /// Revisions that nodes have taken from clients.
    public var takenFromClients = 0
    /// Documents that clients have from their nodes at the end.
    public var takenByClients = 0
    /// Attachments of winners at the end, on each node.
    public var attachments = 0
    /// Simulated seconds until all nodes were equal and idle.
    public var seconds = 0.0
    /// What happened, for people; kept only when asked for.
    public var log: [String] = []

    mutating func mix(_ value: UInt64) { trace = (trace ^ value) &* 0x0000_0100_0000_01B3 }

    /// One line to print when something was wrong, with the command that plays it again.
    public var summary: String {
        "seed \(seed): \(failures.joined(separator: "; ")). Play it again: Tests/simulate --seed \(seed)"
    }
}
