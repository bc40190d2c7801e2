/// How fast each peer's round goes, measured between two reports of a watched status.
struct StatusRates: Equatable, Sendable {
    private struct Sample: Equatable {
        var completed: Int
        var atMilliseconds: Int
        var documentsPerSecond: Int?
    }

    private var samples: [String: Sample] = [:]

    /// Takes a report and the time, by a clock that only goes forward, at which it came.
    mutating func note(_ report: StatusReport, atMilliseconds now: Int) {
        var next: [String: Sample] = [:]
        for peer in report.peers where peer.state == .syncing {
            let completed = peer.completed
            var sample = Sample(completed: completed, atMilliseconds: now, documentsPerSecond: nil)
            if let before = samples[peer.id], completed >= before.completed {
                let passed = now - before.atMilliseconds
                if passed < 500 {
                    // Too short a time to measure: keep counting from the older sample.
                    sample = before
                } else {
                    let rate = (completed - before.completed) * 1_000 / passed
                    sample.documentsPerSecond = before.documentsPerSecond.map { ($0 * 3 + rate) / 4 } ?? rate
                }
            }
            next[peer.id] = sample
        }
        samples = next
    }

    /// Documents in a second; `nil` while it is not known.
    func rate(of peer: StatusReport.Peer) -> Int? { samples[peer.id]?.documentsPerSecond }

    /// Seconds until the slowest round ends; `nil` when one of them cannot be told.
    func secondsLeft(_ report: StatusReport) -> Int? {
        var longest = 0
        for peer in report.peers where peer.state == .syncing {
            guard let rate = rate(of: peer), rate > 0, peer.total >= peer.completed else { return nil }
            longest = max(longest, (peer.total - peer.completed + rate - 1) / rate)
        }
        return longest > 0 ? longest : nil
    }
}
