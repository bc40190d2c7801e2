import Glibc
import KithDocuments
import KithStore

/// A node in another process, by REST on its administration socket.
enum RESTBenchmark {
    private static let singleThreads = 32
    private static let readers = 8

    static func run(_ report: BenchmarkReport, folder: String, count: Int) throws {
        let home = folder + "/rest"
        let node = try NodeProcess(["--node", home, "rest"])
        defer { node.stop() }
        _ = try node.line()
        _ = try node.ask("start")
        let socket = home + "/run/kith.sock"
        try RESTConnection(path: socket).askWell(RESTConnection.request("PUT", "/readings"))
        try measureBulk(report, socket, folder, count: count)
        try measureSingles(report, socket, node, folder)
        try measureReads(report, socket, node, count: count)
        try measureChanges(report, socket, node, count: count)
        try measureFeed(report, socket)
    }

    /// The store by itself and the node in turns, since the disk has quick and slow times.
    private static func measureBulk(
        _ report: BenchmarkReport, _ socket: String, _ folder: String, count: Int
    ) throws {
        let database = try StoreBenchmark.open(folder + "/rest-reference.kith", create: true)
        defer {
            database.close()
            unlink(database.path)
        }
        let client = try RESTConnection(path: socket)
        var (store, rest) = (0.0, 0.0)
        for start in stride(from: 0, to: count, by: 1_000) {
            let numbers = start..<min(start + 1_000, count)
            store += try StoreBenchmark.insert(database, numbers)
            let request = RESTConnection.request("POST", "/readings/_bulk_docs", body: bulk(numbers))
            rest += try Stopwatch.seconds { try client.askWell(request) }
        }
        let all = Double(count)
        report.add("rest", "the store's own insert, 1000 to a commit", all / store, "documents/s")
        report.add(
            "rest", "_bulk_docs, 1000 to a request; ratio to the store", all / rest, "documents/s",
            ratio: store / rest, least: 0.6)
    }

    private static func bulk(_ numbers: Range<Int>) -> [UInt8] {
        var body = Array("{\"docs\":[".utf8)
        for (id, text) in BenchmarkDocuments.made(numbers) {
            if body.last != UInt8(ascii: "[") { body.append(UInt8(ascii: ",")) }
            body += Array("{\"_id\":\"\(id)\",".utf8)
            body += text.dropFirst()
        }
        return body + Array("]}".utf8)
    }

    private static func measureSingles(
        _ report: BenchmarkReport, _ socket: String, _ node: NodeProcess, _ folder: String
    ) throws {
        let database = try StoreBenchmark.open(folder + "/rest-singles.kith", create: true)
        defer {
            database.close()
            unlink(database.path)
        }
        try RESTConnection(path: socket).askWell(RESTConnection.request("PUT", "/singles"))
        let (rounds, count) = (8, 100)
        var (store, rest) = (0.0, 0.0)
        let before = try node.askNumber("cpu")
        for round in 0..<rounds {
            store += try Stopwatch.seconds {
                try BenchmarkThreads.run(singleThreads) { thread in
                    let first = (round * singleThreads + thread) * count
                    try StoreBenchmark.insert(database, first..<(first + count), batch: 1)
                }
            }
            rest += try Stopwatch.seconds {
                try BenchmarkThreads.run(singleThreads) { thread in
                    let client = try RESTConnection(path: socket)
                    let first = (round * singleThreads + thread) * count
                    for (id, body) in BenchmarkDocuments.made(first..<(first + count)) {
                        try client.askWell(RESTConnection.request("PUT", "/singles/" + id, body: body))
                    }
                }
            }
        }
        let all = Double(rounds * singleThreads * count)
        report.add("rest", "the store's own puts, durable, from \(singleThreads) threads", all / store, "documents/s")
        report.add(
            "rest", "PUT from \(singleThreads) clients, kept alive; ratio to the store", all / rest, "documents/s",
            ratio: store / rest, least: 0.7)
        report.add("rest", "processor time of the node for one", (try node.askNumber("cpu") - before) * 1e6 / all, "µs")
    }

    private static func measureReads(
        _ report: BenchmarkReport, _ socket: String, _ node: NodeProcess, count: Int
    ) throws {
        let reads = 10_000
        let before = try node.askNumber("cpu")
        let seconds = try Stopwatch.seconds {
            try BenchmarkThreads.run(readers) { thread in
                let client = try RESTConnection(path: socket)
                for step in 0..<reads {
                    let number = (step * readers + thread) &* 7_919 % count
                    try client.askWell(
                        RESTConnection.request("GET", "/readings/" + BenchmarkDocuments.id(number)))
                }
            }
        }
        report.add(
            "rest", "GET by ID, \(readers) connections", Double(reads * readers) / seconds, "documents/s",
            least: 20_000)
        report.add(
            "rest", "processor time of the node for one",
            (try node.askNumber("cpu") - before) * 1e6 / Double(reads * readers), "µs")
    }

    private static func measureChanges(
        _ report: BenchmarkReport, _ socket: String, _ node: NodeProcess, count: Int
    ) throws {
        let client = try RESTConnection(path: socket)
        for (text, target, bar) in [
            ("_changes without bodies", "/readings/_changes", 200_000.0 as Double?),
            ("_all_docs without bodies", "/readings/_all_docs", nil),
            ("_all_docs with bodies", "/readings/_all_docs?include_docs=true", nil),
        ] {
            _ = try node.ask("reset-peak")
            let before = Stopwatch.residentMebibytes(of: node.pid)
            var best = Double.infinity
            for _ in 0..<3 {
                best = min(
                    best,
                    try Stopwatch.seconds {
                        let lines = try client.askWell(RESTConnection.request("GET", target)).lines
                        guard lines >= count else {
                            throw KithError(.internal, "\(lines) lines were listed of \(count) documents")
                        }
                    })
            }
            report.add("rest", text + ", the best of three", Double(count) / best, "rows/s", least: bar)
            report.add("rest", text + ", growth of memory", try node.askNumber("peak") - before, "MiB")
        }
    }

    /// From the answer to a PUT until a continuous feed has shown it.
    private static func measureFeed(_ report: BenchmarkReport, _ socket: String) throws {
        let puts = 500
        let feed = try RESTConnection(path: socket)
        try feed.send(
            RESTConnection.request("GET", "/singles/_changes?feed=continuous&since=now&heartbeat=60000"))
        guard try feed.head().status == 200 else { throw KithError(.internal, "there is no continuous feed") }
        let client = try RESTConnection(path: socket)
        var delays: [Double] = []
        for number in 1_000_000..<(1_000_000 + puts) {
            let id = BenchmarkDocuments.id(number)
            try client.askWell(
                RESTConnection.request("PUT", "/singles/" + id, body: BenchmarkDocuments.body(number)))
            let acknowledged = Stopwatch.nanoseconds
            while try feed.chunk() == 0 {}
            delays.append(Double(Stopwatch.nanoseconds - acknowledged) / 1e6)
        }
        delays.sort()
        report.add("rest", "PUT to a continuous feed, median", delays[puts / 2], "ms", most: 2)
        report.add("rest", "PUT to a continuous feed, p99", delays[puts * 99 / 100], "ms")
    }
}
