import Glibc
import KithDocuments
import KithStore

/// Counts up in documents that another process counts up at the same time: reads, adds one, writes on the revision that
/// it has read, and begins anew when another was quicker. No other error may come.
struct ShareRole {
    let path: String
    let seed: UInt64
    let seconds: UInt64

    private static let threadCount: UInt64 = 2
    private static let counterCount = 4

    func run() throws {
        let database = try Database(path: path, name: DatabaseName("probe"), create: true)
        printLine("ready \(database.publicID)")
        // The other process is ready too.
        _ = readLine()
        let counts = SharedCounts()
        let threads = try (0..<Self.threadCount).map { number in
            try ProbeThread {
                try count(in: database, seed: seed &* Self.threadCount &+ number, counts)
            }
        }
        for thread in threads { thread.join() }
        database.close()
        let (added, conflicts, longest) = counts.values
        printLine("added \(added) conflicts \(conflicts) longest \(longest)")
    }

    private func count(in database: Database, seed: UInt64, _ counts: SharedCounts) throws {
        var random = SeededGenerator(state: seed)
        let clock = ContinuousClock()
        let end = clock.now.advanced(by: .seconds(Int64(seconds)))
        while clock.now < end {
            let id = try DocumentID("counter-\(Int.random(in: 0..<Self.counterCount, using: &random))")
            let document = try database.read { try $0.document(id) }
            let value = document.map { Self.value($0.body) } ?? 0
            let started = clock.now
            do {
                _ = try database.writeBlocking {
                    try $0.put(id, body: Array(#"{"n":\#(value + 1)}"#.utf8), parent: document?.revision)
                }
                counts.add(1, 0, (clock.now - started) / .milliseconds(1))
            } catch let error as KithError where error.code == .conflict {
                counts.add(0, 1, (clock.now - started) / .milliseconds(1))
            }
        }
    }

    /// The number in `{"n":NUMBER}`.
    private static func value(_ body: [UInt8]) -> UInt64 {
        UInt64(String(decoding: body.filter { (48...57).contains($0) }, as: UTF8.self)) ?? 0
    }
}
