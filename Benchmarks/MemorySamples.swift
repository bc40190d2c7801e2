import Glibc
import KithDocuments
import Synchronization

/// Looks several times a second how much memory processes have, while something else goes on.
final class MemorySamples: Sendable {
    private static let intervalMicroseconds: UInt32 = 100_000
    private let pids: [pid_t]
    private let samples: Mutex<[[Double]]>
    private let isOver = Atomic<Bool>(false)

    init(of pids: [pid_t]) {
        self.pids = pids
        samples = Mutex(pids.map { _ in [] })
    }

    /// What was seen of each process, in MiB, in the order of time.
    var all: [[Double]] { samples.withLock { $0 } }

    /// Looks until the work is done.
    func during(_ work: @escaping @Sendable () throws -> Void) throws {
        try BenchmarkThreads.run(2) { [self] thread in
            if thread == 0 {
                defer { isOver.store(true, ordering: .releasing) }
                try work()
            } else {
                while !isOver.load(ordering: .acquiring) {
                    for (index, pid) in pids.enumerated() {
                        samples.withLock { $0[index].append(Stopwatch.residentMebibytes(of: pid)) }
                    }
                    usleep(Self.intervalMicroseconds)
                }
            }
        }
    }

    /// By how much the most in the last quarter is above the most in the second one: nothing where memory is flat.
    static func growth(_ samples: [Double]) -> Double {
        guard samples.count >= 8 else { return .nan }
        let quarter = samples.count / 4
        let early = samples[quarter..<(2 * quarter)].max() ?? .nan
        let late = samples[(3 * quarter)...].max() ?? .nan
        return max(0, late - early)
    }
}
