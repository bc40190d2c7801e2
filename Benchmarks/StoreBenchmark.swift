import KithDocuments
import KithStore

/// The store against plain SQLite, and against itself at other sizes.
enum StoreBenchmark {
    static let name = "store"

    static func run(_ report: BenchmarkReport, folder: String, count: Int) throws {
        var database = try open(folder + "/store.kith", create: true)
        defer { database.close() }
        let insert = try measureInserts(report, &database, folder: folder, count: count)
        try measureSingles(report, folder: folder)
        let read = try readRate(database, count)
        report.add(row("read by ID, warm", read, "documents/s", bar: 100_000))
        let changes = try changesRate(database, count)
        report.add(row("list of changes over \(count) documents", changes, "rows/s"))
        let digest = try Stopwatch.seconds { _ = try database.read { try $0.digest() } }
        report.add(row("digest over everything", Double(count) / digest, "documents/s"))
        let update = Double(count) / (try updateAll(database, count))
        report.add(
            row(
                "update of each document, 1000 to a commit; ratio to put", update, "documents/s", update / insert,
                bar: 0.6))
        let readLater = try readRate(database, count)
        report.add(row("read by ID after it; ratio to before", readLater, "documents/s", readLater / read, bar: 0.6))
        let changesLater = try changesRate(database, count)
        report.add(
            row("list of changes after it; ratio to before", changesLater, "rows/s", changesLater / changes, bar: 0.6))
        try ScaleBenchmark.run(report, folder: folder, count: count)
        try NoticeBenchmark.run(report, folder: folder)
    }

    static func row(
        _ text: String, _ figure: Double, _ unit: String, _ ratio: Double? = nil, bar: Double? = nil
    ) -> BenchmarkRow {
        BenchmarkRow(suite: name, row: text, figure: figure, unit: unit, ratio: ratio, bar: bar)
    }

    static func open(_ path: String, create: Bool) throws -> Database {
        try Database(path: path, name: DatabaseName("store"), create: create)
    }

    /// Puts new documents, `batch` to a commit.
    ///
    /// - Returns: seconds.
    @discardableResult
    static func insert(_ database: Database, _ numbers: Range<Int>, batch: Int = 1_000) throws -> Double {
        var seconds = 0.0
        for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: batch) {
            let documents = BenchmarkDocuments.made(start..<min(start + batch, numbers.upperBound))
            seconds += try Stopwatch.seconds {
                try database.writeBlocking { transaction in
                    for document in documents {
                        try transaction.put(try DocumentID(document.id), body: document.body, parent: nil)
                    }
                }
            }
        }
        return seconds
    }

    /// Writes a new revision of some documents in one commit: looks up the current one of each, and puts on it.
    ///
    /// - Returns: seconds.
    static func update(_ database: Database, _ numbers: some Sequence<Int>, revision: Int) throws -> Double {
        let documents = BenchmarkDocuments.made(numbers, revision: revision)
        return try Stopwatch.seconds {
            try database.writeBlocking { transaction in
                for document in documents {
                    let id = try DocumentID(document.id)
                    let parent = try transaction.document(id)?.revision
                    try transaction.put(id, body: document.body, parent: parent)
                }
            }
        }
    }

    /// Writes a new revision of each document, on the one that its writer knows.
    ///
    /// - Returns: seconds.
    private static func updateAll(_ database: Database, _ count: Int) throws -> Double {
        let changes = try database.read { try $0.changes(ChangesQuery(style: .winners)) }
        let revisions = Dictionary(uniqueKeysWithValues: changes.map { ($0.id, $0.winner.revision) })
        var seconds = 0.0
        for start in stride(from: 0, to: count, by: 1_000) {
            let edits = try BenchmarkDocuments.made(start..<min(start + 1_000, count), revision: 1).map { document in
                let id = try DocumentID(document.id)
                return DocumentEdit(id: id, body: document.body, parent: revisions[id])
            }
            seconds += try Stopwatch.seconds {
                try database.writeBlocking { _ = try $0.putAll(edits, onFailure: .undoAll) }
            }
        }
        return seconds
    }

    /// - Returns: documents in a second.
    private static func measureInserts(
        _ report: BenchmarkReport, _ database: inout Database, folder: String, count: Int
    ) throws -> Double {
        let raw = try RawSQLite.insertRate(count: count, batch: 1_000, folder: folder)
        report.add(row("raw SQLite: \(count) inserts, 1000 to a commit", raw, "documents/s"))
        let rate = Double(count) / (try insert(database, 0..<count))
        report.add(
            row("put of new documents, 1000 to a commit; ratio to raw", rate, "documents/s", rate / raw, bar: 0.5))
        // Closing moves the log into the file.
        database.close()
        let bodies = (0..<count).reduce(0) { $0 + BenchmarkDocuments.body($1).count }
        var size = row(
            "bytes on disk a document; ratio to the bodies", Double(database.sizeOnDisk) / Double(count), "bytes",
            Double(database.sizeOnDisk) / Double(bodies), bar: 1.6)
        size.isCost = true
        report.add(size)
        database = try open(database.path, create: false)
        return rate
    }

    /// Both in turns, since the disk has quick and slow times.
    private static func measureSingles(_ report: BenchmarkReport, folder: String) throws {
        let database = try open(folder + "/singles.kith", create: true)
        defer { database.close() }
        let (rounds, count, threads) = (8, 200, 32)
        let raw = try RawSQLite(folder: folder, name: "singles")
        var (rawSeconds, oneSeconds, manySeconds) = (0.0, 0.0, 0.0)
        for round in 0..<rounds {
            let first = round * count
            rawSeconds += try raw.insert(first..<(first + count), batch: 1)
            oneSeconds += try insert(database, first..<(first + count), batch: 1)
            manySeconds += try Stopwatch.seconds {
                try BenchmarkThreads.run(threads) { thread in
                    let first = 1_000_000 + (round * threads + thread) * count
                    try insert(database, first..<(first + count), batch: 1)
                }
            }
        }
        let all = Double(rounds * count)
        report.add(row("raw SQLite: one insert to a commit", all / rawSeconds, "documents/s"))
        report.add(
            row(
                "put of one document, durable; ratio to raw", all / oneSeconds, "documents/s", rawSeconds / oneSeconds,
                bar: 0.7))
        let many = all * Double(threads) / manySeconds
        report.add(
            row("the same from 32 threads; ratio to one", many, "documents/s", many * oneSeconds / all, bar: 5))
    }

    /// Documents in a second of processor time, the best of three, warm.
    private static func readRate(_ database: Database, _ count: Int) throws -> Double {
        let reads = min(count, 50_000)
        return Double(reads)
            / (try bestOfThree {
                try database.read { snapshot in
                    for step in 0..<reads {
                        let number = step &* 7_919 % count
                        guard try snapshot.document(try DocumentID(BenchmarkDocuments.id(number))) != nil else {
                            throw KithError(.internal, "a document that was written is not there")
                        }
                    }
                }
            })
    }

    /// Rows in a second of processor time, the best of three.
    static func changesRate(_ database: Database, _ count: Int) throws -> Double {
        Double(count)
            / (try bestOfThree {
                var seen = 0
                try database.read { snapshot in
                    try snapshot.forEachChange(ChangesQuery()) { _ in
                        seen += 1
                        return true
                    }
                }
                guard seen == count else { throw KithError(.internal, "\(seen) of \(count) changes were listed") }
            })
    }

    private static func bestOfThree(_ work: () throws -> Void) throws -> Double {
        var best = Double.infinity
        for _ in 0..<3 { best = min(best, try Stopwatch.processorSeconds(work)) }
        return best
    }
}
