import Glibc
import Testing

/// A process that writes is killed again and again, always on the same file.
@Suite("Crashes of the process")
struct CrashTests {
    /// Replays the kill times and the writes of a run that failed; what the machine does between is not replayed.
    private static let seed =
        getenv("KITH_CRASH_SEED").flatMap { UInt64(String(cString: $0)) } ?? .random(in: 1...9_999_999)
    private static let rounds = TestLength.isLong ? 3000 : 300

    @Test("nothing acknowledged is lost and no sequence is given twice, whenever the process is killed")
    func kill() throws {
        let folder = TemporaryFolder()
        let path = folder.file()
        var random = SeededGenerator(state: Self.seed)
        var acknowledged: [String] = []
        var sequences: Set<String> = []
        for round in 0..<Self.rounds {
            let comment = Comment(rawValue: "round \(round) of KITH_CRASH_SEED=\(Self.seed)")
            let lines = try Self.writeAndKill(path, &random, comment)
            for line in lines {
                let sequence = String(line.split(separator: " ").last ?? "")
                #expect(sequences.insert(sequence).inserted, "a sequence came twice: \(line)")
            }
            acknowledged += lines
            // A kill before the file was there.
            guard access(path, F_OK) == 0 else {
                #expect(lines.isEmpty, comment)
                continue
            }
            let faults = try Self.verify(path, lines)
            #expect(faults.isEmpty, comment)
            // The file is the evidence, and the rounds after it would only say the same.
            if !faults.isEmpty { return }
        }
        #expect(try Self.verify(path, acknowledged) == [], "KITH_CRASH_SEED=\(Self.seed)")
        #expect(acknowledged.count > Self.rounds, "the process was killed before it had written anything")
    }

    @Test("blobs are whole or not there, and what is stored of one is gone on with, whenever the process is killed")
    func killStreaming() throws {
        let folder = TemporaryFolder()
        let path = folder.file()
        var random = SeededGenerator(state: Self.seed)
        var (acknowledged, resumed): ([String], [Int]) = ([], [])
        // Each kill but the first comes at any moment.
        for round in 0..<(TestLength.isLong ? 200 : 8) {
            let comment = Comment(rawValue: "round \(round) of KITH_CRASH_SEED=\(Self.seed)")
            // The first stops in the middle of a blob, of which one mebibyte has to be stored before the third is begun.
            let pieces = 15
            let lineCount = round == 0 ? 2 + pieces : Int.random(in: 1...40, using: &random)
            // The number of the blob that is under way.
            let number = acknowledged.count
            let probe = try ProbeProcess(
                ["stream", path, String(number)] + (round == 0 ? [String(pieces)] : []))
            var lines = (0..<lineCount).compactMap { _ in probe.readLine() }
            probe.kill()
            lines += probe.readLines()
            #expect(probe.wait() == 128 + SIGKILL, comment)
            let writes = lines.filter { $0.hasPrefix("film-") }
            resumed += lines.filter { $0.hasPrefix("resumed ") }.compactMap { Int($0.dropFirst(8)) }
            acknowledged += writes
            let faults = try Self.verify(path, writes)
            #expect(faults.isEmpty, comment)
            if !faults.isEmpty { return }
        }
        #expect(try Self.verify(path, acknowledged) == [], "KITH_CRASH_SEED=\(Self.seed)")
        #expect(resumed.contains { $0 >= 1 << 20 }, "KITH_CRASH_SEED=\(Self.seed)")
    }

    @Test("the check finds a write that is not there, and a sequence that was given twice")
    func verifyFinds() throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder)
        let (revision, sequence) = try database.writeBlocking { try $0.put(id("a"), body: bytes("{}"), parent: nil) }
        database.close()
        let line = "a \(revision) \(sequence)"
        #expect(try Self.verify(folder.file(), [line]) == [])
        #expect(try Self.verify(folder.file(), [line, line]).count == 1)
        let other = String(repeating: "0", count: 40)
        #expect(try Self.verify(folder.file(), ["a 1-\(other) \(sequence)"]) == ["lost: a 1-\(other) 1"])
        #expect(try Self.verify(folder.file(), ["b 1-\(other) 1"]) == ["lost with its document: b 1-\(other) 1"])
        #expect(try Self.verify(folder.file(), ["a \(revision) 2"]).count == 2)
    }

    /// What was acknowledged until the kill, which comes at any time from the start of the process on.
    private static func writeAndKill(
        _ path: String, _ random: inout SeededGenerator, _ comment: Comment
    ) throws -> [String] {
        let seed = UInt64.random(in: 0...UInt64(UInt32.max), using: &random)
        let isEarly = Int.random(in: 0..<8, using: &random) == 0
        // Counted in what it has written, so that a slow machine kills it no sooner; the time only varies the moment.
        let count = Int.random(in: 1...8, using: &random)
        let delay = Duration.microseconds(Int64.random(in: 0...(isEarly ? 20_000 : 5_000), using: &random))
        let probe = try ProbeProcess(["write", path, String(seed)])
        var lines: [String] = []
        if !isEarly {
            #expect(probe.readLine() == "ready", comment)
            lines = (0..<count).compactMap { _ in probe.readLine() }
        }
        lines += probe.readLines(until: .now.advanced(by: delay))
        probe.kill()
        lines += probe.readLines()
        #expect(probe.wait() == 128 + SIGKILL, comment)
        return lines.filter { $0 != "ready" }
    }

    private static func verify(_ path: String, _ lines: [String]) throws -> [String] {
        let probe = try ProbeProcess(["verify", path])
        probe.send(lines.map { $0 + "\n" }.joined())
        probe.endInput()
        let faults = probe.readLines()
        let code = probe.wait()
        return code == (faults.isEmpty ? 0 : 1) ? faults : faults + ["the check ended with \(code)"]
    }
}
