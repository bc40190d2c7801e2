import Glibc
import KithDocuments
import KithStore

/// Writes from several threads until the process is killed, and prints what was acknowledged.
struct WriteRole {
    let path: String
    let seed: UInt64

    private static let threadCount: UInt64 = 3

    func run() throws {
        let database = try Database(path: path, name: DatabaseName("probe"), create: true)
        printLine("ready")
        let threads = try (0..<Self.threadCount).map { number in
            try ProbeThread { try Self.write(to: database, seed: seed &* Self.threadCount &+ number) }
        }
        for thread in threads { thread.join() }
    }

    private static func write(to database: Database, seed: UInt64) throws {
        var random = SeededGenerator(state: seed)
        while true {
            let operation = ProbeOperations.all.randomElement(using: &random)!
            let chance = random.next()
            let gate = ProbeGate()
            database.submitWrite({ try operation($0, chance) }) { result in
                do {
                    for write in try result.get() { printLine(write.line) }
                } catch {
                    printError("\(error)")
                    exit(1)
                }
                gate.open()
            }
            // Sometimes the next write is queued before this one is answered.
            if chance >> 40 & 3 != 0 { gate.wait() }
        }
    }
}
