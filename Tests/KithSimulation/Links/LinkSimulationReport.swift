/// What came of a simulation of links.
public struct LinkSimulationReport: Sendable {
    /// The seed that was played.
    public var seed: UInt64
    /// What did not hold, each with the time and the nodes.
    public var failures: [String] = []
    /// When each dial began, in order, in seconds.
    public var dials: [Double] = []
    /// How many dials each node began.
    public var dialsOfNode: [Int] = []
    /// How many dials the node that refuses everybody got.
    public var dialsOfRefusing = 0
    /// When the network was whole for good, in seconds.
    public var healedAtSeconds = 0.0
    /// When the last pair was linked after that, in seconds after it.
    public var wholeAfterSeconds = Double.infinity
    /// How many links were made, counted at both ends.
    public var links = 0
    /// How many were found dead, counted at both ends.
    public var deaths = 0
    /// What happened, line by line, if it was asked for.
    public var log: [String] = []

    /// The most dials that began within a second.
    public func dialsInOneSecondMax(from: Double = 0, to: Double = .infinity) -> Int {
        let chosen = dials.filter { from <= $0 && $0 < to }
        var (most, first) = (0, 0)
        for (index, time) in chosen.enumerated() {
            while chosen[first] <= time - 1 { first += 1 }
            most = max(most, index - first + 1)
        }
        return most
    }

    /// The seed and the first failures.
    public var summary: String {
        "seed \(seed): \(failures.prefix(5).joined(separator: "; "))"
    }
}
