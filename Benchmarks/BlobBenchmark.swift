import CLinux
import Glibc
import KithDocuments
import KithStore

/// Blobs of very different sizes, streamed in and out: how fast, and whether memory stays flat.
enum BlobBenchmark {
    private static let step = 1 << 20

    static func run(_ report: BenchmarkReport, folder: String, mebibytes: Int) async throws {
        let database = try Database(path: folder + "/blobs.kith", name: DatabaseName("blobs"), create: true)
        defer { database.close() }
        // Once first, so that SQLite's page caches, which every use of a database fills to their fixed sizes, are full.
        try read(database, try await write(database, mebibytes: 64, seed: 1))
        var growth: [Int] = []
        for size in [1, mebibytes] {
            let name = "\(size) MiB"
            let raw = try rawRate(folder: folder, mebibytes: size)
            try MemoryPeak.reset()
            let before = try MemoryPeak.kibibytes()
            var blob: Blob?
            let writing = try await Stopwatch.secondsAwaited {
                blob = try await write(database, mebibytes: size, seed: UInt64(size) + 1)
            }
            guard let blob else { return }
            let reading = try Stopwatch.seconds { try read(database, blob) }
            growth.append(try MemoryPeak.kibibytes() - before)
            report.add(
                BenchmarkRow(
                    suite: "blobs", row: "in, \(name), against a file, SHA-1 and fsync", figure: Double(size) / writing,
                    unit: "MiB/s", ratio: Double(size) / writing / raw))
            report.add(
                BenchmarkRow(
                    suite: "blobs", row: "out, \(name), every piece verified", figure: Double(size) / reading,
                    unit: "MiB/s"))
        }
        report.add(
            BenchmarkRow(
                suite: "blobs", row: "memory that the blob of 1 MiB needs", figure: Double(growth[0]) / 1024,
                unit: "MiB"))
        report.add(
            BenchmarkRow(
                suite: "blobs", row: "memory that the blob of \(mebibytes) MiB needs", figure: Double(growth[1]) / 1024,
                unit: "MiB"))
    }

    static func write(_ database: Database, mebibytes: Int, seed: UInt64) async throws -> Blob {
        let writer = try database.makeBlob()
        var piece = noise(seed)
        for number in 0..<mebibytes {
            piece[0] = UInt8(truncatingIfNeeded: number)
            try await writer.append(piece)
        }
        return try await writer.finish()
    }

    private static func read(_ database: Database, _ blob: Blob) throws {
        var offset: UInt64 = 0
        while offset < blob.length {
            let piece = try database.blobPiece(blob.digest, at: offset, count: 262_144)
            guard !piece.isEmpty else { throw KithError(.internal, "a blob that was written has not all its bytes") }
            offset += UInt64(piece.count)
        }
    }

    /// What a file costs that is written, hashed and flushed: MiB in a second.
    private static func rawRate(folder: String, mebibytes: Int) throws -> Double {
        let path = folder + "/raw.bytes"
        defer { unlink(path) }
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        guard file >= 0 else { throw KithError(.inputOutput, "no file for the comparison") }
        defer { close(file) }
        var piece = noise(9)
        let hash = try PlainSHA1()
        let seconds = try Stopwatch.seconds {
            for number in 0..<mebibytes {
                piece[0] = UInt8(truncatingIfNeeded: number)
                hash.add(piece)
                let written = piece.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
                guard written == piece.count else { throw KithError(.diskFull, "the comparison has no room") }
            }
            guard fsync(file) == 0 else { throw KithError(.inputOutput, "fsync failed") }
        }
        return Double(mebibytes) / seconds
    }

    private static func noise(_ seed: UInt64) -> [UInt8] {
        var state = seed
        var bytes: [UInt8] = []
        bytes.reserveCapacity(step)
        while bytes.count < step {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            withUnsafeBytes(of: state) { bytes.append(contentsOf: $0) }
        }
        return bytes
    }
}
