import KithDocuments
import KithStore

/// The store against plain SQLite.
enum StoreBenchmark {
    static func run(_ report: BenchmarkReport, folder: String, count: Int) throws {
        let batch = 500
        let raw = try RawSQLite.insertRate(count: count, batch: batch, folder: folder)
        report.add(
            BenchmarkRow(
                suite: "store", row: "raw SQLite: \(count) inserts, \(batch) to a commit", figure: raw,
                unit: "documents/s"))
        let database = try Database(path: folder + "/store.kith", name: DatabaseName("store"), create: true)
        defer { database.close() }
        let insert = try Stopwatch.seconds {
            var number = 0
            while number < count {
                let range = number..<min(number + batch, count)
                try database.writeBlocking { transaction in
                    for number in range {
                        try transaction.put(
                            try DocumentID(BenchmarkDocuments.id(number)), body: BenchmarkDocuments.body(number),
                            parent: nil)
                    }
                }
                number = range.upperBound
            }
        }
        let rate = Double(count) / insert
        report.add(
            BenchmarkRow(
                suite: "store", row: "put of new documents, \(batch) to a commit", figure: rate, unit: "documents/s",
                ratio: rate / raw))
        let singles = 300
        let single = try Stopwatch.seconds {
            for number in 0..<singles {
                _ = try database.writeBlocking { transaction in
                    try transaction.put(
                        try DocumentID("single-\(number)"), body: BenchmarkDocuments.body(number), parent: nil)
                }
            }
        }
        let rawSingle = try RawSQLite.insertRate(count: singles, batch: 1, folder: folder)
        report.add(
            BenchmarkRow(
                suite: "store", row: "put of one document, durable", figure: Double(singles) / single,
                unit: "documents/s",
                ratio: Double(singles) / single / rawSingle))
        let reads = min(count, 50_000)
        let read = try Stopwatch.seconds {
            try database.read { snapshot in
                for step in 0..<reads {
                    let number = step &* 7_919 % count
                    guard try snapshot.document(try DocumentID(BenchmarkDocuments.id(number))) != nil else {
                        throw KithError(.internal, "a document that was written is not there")
                    }
                }
            }
        }
        report.add(
            BenchmarkRow(suite: "store", row: "read by ID, warm", figure: Double(reads) / read, unit: "documents/s"))
        let digest = try Stopwatch.seconds { _ = try database.read { try $0.digest() } }
        report.add(
            BenchmarkRow(
                suite: "store", row: "digest over everything", figure: Double(count) / digest, unit: "documents/s"))
        report.add(
            BenchmarkRow(
                suite: "store", row: "bytes on disk a document",
                figure: Double(database.sizeOnDisk) / Double(count + singles),
                unit: "bytes"))
    }
}
