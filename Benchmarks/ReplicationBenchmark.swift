import Glibc
import KithDocuments
import KithStore

/// Two nodes in two processes over loopback TLS.
enum ReplicationBenchmark {
    /// What can be chosen about it.
    struct Options {
        /// Small documents of the first replication.
        var documents = 100_000
        /// Documents while whose first replication memory is watched; `nil`: not at all.
        var watchedDocuments: Int?
        var blobMebibytes = 128
        var idleSeconds = 20

        /// Everything as large and as long as the bars mean it: about half an hour.
        mutating func makeLong() {
            watchedDocuments = 1_000_000
            blobMebibytes = 1_024
            idleSeconds = 600
        }
    }

    private static let largeBytes = 10 << 10
    /// 80 MB.
    private static let memoryMebibytesMax = 76.0

    static func run(_ report: BenchmarkReport, folder: String, options: Options) throws {
        try withPair(folder, "small") { pair in
            try measureDocuments(report, pair, folder, "small", count: options.documents, bytes: 300)
            try measureLatency(report, pair, "small", count: options.documents)
        }
        try withPair(folder, "large") { pair in
            try measureDocuments(
                report, pair, folder, "large", count: max(1, options.documents / 10), bytes: largeBytes)
        }
        try withPair(folder, "blob") { try measureBlob(report, $0, mebibytes: options.blobMebibytes) }
        if let count = options.watchedDocuments {
            try withPair(folder, "many") { try watchMemory(report, $0, count: count) }
        }
        try withPair(folder, "idle") { try measureIdle(report, $0, seconds: options.idleSeconds) }
    }

    /// Each measurement has new nodes, so that none has the memory and the links of those before.
    private static func withPair(_ folder: String, _ name: String, _ body: (NodePair) throws -> Void) throws {
        guard mkdir(folder + "/" + name, 0o700) == 0 else { throw KithError(.inputOutput, "no folder for two nodes") }
        let pair = try NodePair(folder: folder + "/" + name)
        defer { pair.stop() }
        try body(pair)
    }

    /// Documents in a second that the store takes by itself, 1,000 to a commit.
    private static func insertRate(_ folder: String, _ name: String, count: Int, bytes: Int) throws -> Double {
        let database = try StoreBenchmark.open(folder + "/reference-\(name).kith", create: true)
        defer {
            database.close()
            unlink(database.path)
        }
        var seconds = 0.0
        for start in stride(from: 0, to: count, by: 1_000) {
            let documents = (start..<min(start + 1_000, count)).map {
                (id: BenchmarkDocuments.id($0), body: BenchmarkDocuments.body($0, bytes: bytes))
            }
            seconds += try Stopwatch.seconds {
                try database.writeBlocking { transaction in
                    for document in documents {
                        try transaction.put(try DocumentID(document.id), body: document.body, parent: nil)
                    }
                }
            }
        }
        return Double(count) / seconds
    }

    private static func measureDocuments(
        _ report: BenchmarkReport, _ pair: NodePair, _ folder: String, _ name: String, count: Int, bytes: Int
    ) throws {
        let isSmall = bytes < 1_024
        let what = "\(count) documents of about \(isSmall ? "\(bytes) bytes" : "\(bytes >> 10) KiB")"
        let insert = try insertRate(folder, name, count: count, bytes: bytes)
        report.add("replication", "the store's own insert of \(what)", insert, "documents/s")
        _ = try pair.sender.ask("create \(name)")
        _ = try pair.sender.ask("load \(name) \(count) \(bytes)")
        let first = try pair.replicate(name, count: count)
        let rate = Double(count) / first.seconds
        report.add(
            "replication", "first replication of \(what); ratio to insert", rate, "documents/s", ratio: rate / insert,
            least: 0.5)
        report.add(
            "replication", "processor time a document of them, both sides",
            first.processorSeconds / Double(count) * 1e6, "µs",
            most: isSmall ? 50 : nil)
        for (side, node) in [("sender", pair.sender), ("receiver", pair.receiver)] {
            report.add(
                "replication", "peak memory of the \(side) meanwhile", try node.askNumber("peak"), "MiB",
                most: memoryMebibytesMax)
        }
        try pair.checkSame(name)
    }

    /// One put at a time: from its acknowledgement on one node until it can be read on the other.
    private static func measureLatency(
        _ report: BenchmarkReport, _ pair: NodePair, _ database: String, count: Int
    ) throws {
        var latencies: [Double] = []
        for number in 0..<500 {
            pair.receiver.send("await \(database) \(count + number + 1)")
            let acknowledged = try pair.sender.askNumber("put \(database) single-\(number)")
            let readable = try Double(pair.receiver.line()) ?? .nan
            latencies.append(max(0, readable - acknowledged) / 1e6)
        }
        latencies.sort()
        let text = "put acknowledged on one to readable on the other"
        report.add("replication", "\(text), median of 500", latencies[latencies.count / 2], "ms", most: 3)
        report.add("replication", "\(text), p99 of 500", latencies[latencies.count * 99 / 100], "ms", most: 15)
    }

    private static func measureBlob(_ report: BenchmarkReport, _ pair: NodePair, mebibytes: Int) throws {
        pair.receiver.send("tls-receive \(mebibytes)")
        let port = try pair.receiver.line()
        _ = try pair.sender.ask("tls-send \(mebibytes) \(port)")
        guard let raw = Double(try pair.receiver.line()) else {
            throw KithError(.internal, "the comparison with TLS has no figure")
        }
        report.add("replication", "TLS alone and SHA-1, \(mebibytes) MiB", raw, "MiB/s")
        _ = try pair.sender.ask("create scans")
        _ = try pair.sender.ask("attach scans \(mebibytes)")
        let first = try pair.replicate("scans", count: 1)
        let rate = Double(mebibytes) / first.seconds
        report.add(
            "replication", "an attachment of \(mebibytes) MiB; ratio to TLS and SHA-1", rate, "MiB/s",
            ratio: rate / raw,
            least: 0.5)
        try pair.checkSame("scans")
    }

    /// Watches both nodes while they replicate very many documents: memory is small and stays as it is.
    private static func watchMemory(_ report: BenchmarkReport, _ pair: NodePair, count: Int) throws {
        _ = try pair.sender.ask("create many")
        _ = try pair.sender.ask("load many \(count) 300")
        let samples = MemorySamples(of: [pair.sender.pid, pair.receiver.pid])
        try samples.during { _ = try pair.replicate("many", count: count) }
        for (side, node, seen) in [
            ("sender", pair.sender, samples.all[0]), ("receiver", pair.receiver, samples.all[1]),
        ] {
            let text = "memory of the \(side), first replication of \(count) documents"
            report.add("replication", "\(text): peak", try node.askNumber("peak"), "MiB", most: memoryMebibytesMax)
            report.add("replication", "\(text): growth, 2nd to 4th quarter", MemorySamples.growth(seen), "MiB")
        }
        try pair.checkSame("many")
    }

    /// Nothing happens: what the two still do, and say to each other.
    private static func measureIdle(_ report: BenchmarkReport, _ pair: NodePair, seconds: Int) throws {
        for node in [pair.sender, pair.receiver] { _ = try node.ask("create quiet") }
        _ = try pair.sender.ask("put quiet one")
        _ = try pair.receiver.ask("await quiet 1")
        // Checkpoints that are still to be saved belong to what was before.
        sleep(UInt32(8))
        let processor = try pair.processorSeconds()
        let bytes = try pair.sender.askNumber("wire")
        let elapsed = Stopwatch.seconds { sleep(UInt32(seconds)) }
        let used = try pair.processorSeconds() - processor
        let sent = try pair.sender.askNumber("wire") - bytes
        // Half of it is each node's.
        report.add(
            "replication", "an idle node for \(seconds) s, of one core", used / 2 / elapsed * 100, "%", most: 0.1)
        report.add("replication", "an idle pair for \(seconds) s, on the wire", sent / elapsed, "bytes/s", most: 2_048)
    }
}
