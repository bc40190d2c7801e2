import CLinux
import Glibc
import KithDocuments
import KithStore

/// How soon a process learns what another one has written to the same file.
enum NoticeBenchmark {
    private static let count = 500

    static func run(_ report: BenchmarkReport, folder: String) throws {
        let path = folder + "/notice.kith"
        let database = try StoreBenchmark.open(path, create: true)
        defer { database.close() }
        var ends: [Int32] = [-1, -1]
        guard pipe2(&ends, O_CLOEXEC) == 0 else { throw KithError(.inputOutput, "no pipe") }
        let (told, tell) = (ends[0], ends[1])
        defer {
            close(told)
            close(tell)
        }
        let token = database.observe { _ in
            var now = Stopwatch.nanoseconds
            _ = Glibc.write(tell, &now, 8)
        }
        defer { token.cancel() }
        let writer = try NodeProcess(["--writer", path])
        defer { writer.stop() }
        var delays: [Double] = []
        for number in 0..<count {
            // One after the other, so that each has a notice of its own.
            let acknowledged = try writer.askNumber("\(number)")
            var seen: UInt64 = 0
            guard read(told, &seen, 8) == 8 else { throw KithError(.inputOutput, "no notice came") }
            delays.append(Double(seen) - acknowledged)
        }
        delays.sort()
        for (text, place) in [("median", count / 2), ("p99", count * 99 / 100)] {
            report.add(
                BenchmarkRow(
                    suite: StoreBenchmark.name, row: "put by another process: its answer to our observer, \(text)",
                    figure: delays[place] / 1e6, unit: "ms", bar: 50, isCost: true))
        }
    }

    /// The other process: puts the document of each number that it reads, and prints the time of the answer.
    static func write(path: String) throws {
        let database = try StoreBenchmark.open(path, create: false)
        while let line = readLine(), let number = Int(line) {
            try StoreBenchmark.insert(database, number..<(number + 1))
            print(Stopwatch.nanoseconds)
        }
        database.close()
    }
}
