import KithDocuments

/// Two nodes in two processes over loopback TLS.
enum ReplicationBenchmark {
    static func run(_ report: BenchmarkReport, folder: String, count: Int) throws {
        let raw = try RawSQLite.insertRate(count: count, batch: 500, folder: folder)
        report.add(
            BenchmarkRow(
                suite: "replication", row: "raw SQLite: \(count) inserts, 500 to a commit", figure: raw,
                unit: "documents/s"))

        let a = try NodeProcess(["--node", folder + "/a", "a"])
        let b = try NodeProcess(["--node", folder + "/b", "b"])
        defer {
            a.stop()
            b.stop()
        }
        let (idA, idB) = (try a.line(), try b.line())
        _ = try a.ask("trust \(idB) b")
        _ = try b.ask("trust \(idA) a")
        let port = try a.ask("start")
        _ = try a.ask("create")
        _ = try a.ask("load \(count)")
        _ = try b.ask("start 127.0.0.1:\(port)")
        let cpuBefore = try a.askNumber("cpu") + b.askNumber("cpu")

        // The clock runs from the moment at which B has the database, and with it a link, until B has all.
        let start = Stopwatch.nanoseconds
        _ = try b.ask("create")
        let first = try b.askNumber("await 1")
        let end = try b.askNumber("await \(count)")
        let seconds = (end - Double(start)) / 1e9
        let rate = Double(count) / seconds
        report.add(
            BenchmarkRow(
                suite: "replication", row: "first replication of \(count) documents", figure: rate, unit: "documents/s",
                ratio: rate / raw))
        let streaming = Double(count) / ((end - first) / 1e9)
        report.add(
            BenchmarkRow(
                suite: "replication", row: "the same, without the wait for the link", figure: streaming,
                unit: "documents/s", ratio: streaming / raw))
        let cpu = try a.askNumber("cpu") + b.askNumber("cpu") - cpuBefore
        report.add(
            BenchmarkRow(
                suite: "replication", row: "processor time a document, both sides", figure: cpu / Double(count) * 1e6,
                unit: "µs"))
        for (name, node) in [("sender", a), ("receiver", b)] {
            report.add(
                BenchmarkRow(
                    suite: "replication", row: "peak memory of the \(name)", figure: try node.askNumber("peak"),
                    unit: "MiB"))
        }
        guard try a.ask("digest") == b.ask("digest") else {
            throw KithError(.internal, "the two databases are not the same after replication")
        }

        // One put at a time: from its acknowledgement on A until it can be read on B.
        var latencies: [Double] = []
        for number in 0..<500 {
            b.send("await \(count + number + 1)")
            let acknowledged = try a.askNumber("put single-\(number)")
            let readable = try Double(b.line()) ?? .nan
            latencies.append(max(0, readable - acknowledged) / 1e6)
        }
        latencies.sort()
        report.add(
            BenchmarkRow(
                suite: "replication", row: "put acknowledged on A to readable on B, median of 500",
                figure: latencies[latencies.count / 2], unit: "ms"))
        report.add(
            BenchmarkRow(
                suite: "replication", row: "put acknowledged on A to readable on B, p99 of 500",
                figure: latencies[latencies.count * 99 / 100], unit: "ms"))
    }
}
