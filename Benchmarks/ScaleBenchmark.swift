import Glibc
import KithDocuments
import KithStore

/// What grows with the database, and what must not.
enum ScaleBenchmark {
    private typealias Cost = (new: Double, single: Double, spread: Double)

    static func run(_ report: BenchmarkReport, folder: String, count: Int) throws {
        let sizes = [count / 10, count, count * 10]
        let path = folder + "/scale.kith"
        var database = try StoreBenchmark.open(path, create: true)
        var smallest: Cost?
        var filled = 0
        for size in sizes {
            try StoreBenchmark.insert(database, filled..<size)
            filled = size
            let cost = try measure(database, &filled)
            let first = smallest ?? cost
            smallest = first
            // What is looked up or changed is as many steps away as the tree is deep.
            let growth = log(Double(size)) / log(Double(sizes[0]))
            for (text, own, reference, hasBar) in [
                ("put of a new document, 1000 to a commit", cost.new, first.new, true),
                ("update of one document, durable", cost.single, first.single, true),
                // In a small database many of a thousand documents share a page, in a large one each has its own.
                ("update of documents here and there, 1000 to a commit", cost.spread, first.spread, false),
            ] {
                report.add(
                    BenchmarkRow(
                        suite: StoreBenchmark.name, row: "\(text), at \(size)", figure: own * 1e6, unit: "µs",
                        ratio: own / reference, bar: hasBar && size > sizes[0] ? growth : nil, isCost: true))
            }
        }
        database.close()
        var openings: [Double] = []
        for _ in 0..<5 {
            openings.append(try Stopwatch.seconds { database = try StoreBenchmark.open(path, create: false) })
            if openings.count < 5 { database.close() }
        }
        defer { database.close() }
        report.add(
            BenchmarkRow(
                suite: StoreBenchmark.name, row: "open a database of \(filled) documents",
                figure: openings.min()! * 1e3,
                unit: "ms", bar: 20, isCost: true))
        let before = Stopwatch.residentMebibytes
        let rate = try StoreBenchmark.changesRate(database, filled)
        report.add(
            StoreBenchmark.row("list of changes over \(filled) documents", rate, "rows/s", bar: 500_000))
        report.add(
            StoreBenchmark.row("growth of memory by it", Stopwatch.residentMebibytes - before, "MiB"))
    }

    /// Seconds a document; the best of five rounds each, since others use the machine too.
    private static func measure(_ database: Database, _ filled: inout Int) throws -> Cost {
        var cost: Cost = (.infinity, .infinity, .infinity)
        let size = filled
        var chance: UInt64 = 1
        func random() -> Int {
            chance = chance &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(chance >> 33) % size
        }
        for round in 0..<5 {
            let next = filled..<(filled + 2_000)
            filled = next.upperBound
            cost.new = min(cost.new, try StoreBenchmark.insert(database, next) / 2_000)
            var single = 0.0
            for _ in 0..<100 { single += try StoreBenchmark.update(database, [random()], revision: round + 1) }
            cost.single = min(cost.single, single / 100)
            let spread = (0..<1_000).map { _ in random() }
            cost.spread = min(
                cost.spread, try StoreBenchmark.update(database, spread, revision: round + 100) / 1_000)
        }
        return cost
    }
}
