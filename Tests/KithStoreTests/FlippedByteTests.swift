import KithDocuments
import KithStore
import Testing

@Suite("Store: files with flipped bytes")
struct FlippedByteTests {
    /// A file of some hundred pages: documents of one and of several pages, conflicts, tombstones, a collection.
    private func makeFile(_ folder: TemporaryFolder) throws -> [UInt8] {
        let database = try fileDatabase(folder)
        try database.writeBlocking { transaction in
            let stock = try CollectionName("stock")
            try transaction.createCollection(stock)
            for number in 0..<120 {
                let text = String(repeating: "x", count: number % 10 == 0 ? 9_000 : number * 7)
                let first = try transaction.put(
                    id("doc \(number)"), body: bytes(#"{"n":\#(number),"x":"\#(text)"}"#), parent: nil)
                if number % 3 == 0 { try transaction.insert(incoming("doc \(number)", ["1-ff"])) }
                if number % 7 == 0 { try transaction.delete(id("doc \(number)"), parent: first.revision) }
                try transaction.collection(stock).put(id("item \(number)"), body: bytes("{}"), parent: nil)
            }
        }
        database.close()
        return try #require(contents(folder.file()))
    }

    /// What the file says of itself: an error's code, or how many faults a check counts.
    private func examine(_ folder: TemporaryFolder) async throws -> Result<Int, ErrorCodeError> {
        do {
            let database = try fileDatabase(folder, create: false)
            defer { database.close() }
            // Whatever a check says of the file, reading all of it must not end the process.
            _ = try? database.read { snapshot in
                for collection in try snapshot.collections() { _ = try snapshot.collection(collection).digest() }
            }
            return .success(try await database.check().faultCount)
        } catch let error as KithError {
            return .failure(ErrorCodeError(code: error.code))
        }
    }

    struct ErrorCodeError: Error { let code: ErrorCode }

    @Test("a file with bytes flipped anywhere is refused as damaged, or checked to its end, and most of it is found")
    func flipped() async throws {
        let folder = TemporaryFolder()
        let sound = try makeFile(folder)
        var random = SeededGenerator(state: 20_261_130)
        var found = 0
        let runs = TestLength.isLong ? 3_000 : 120
        for run in 0..<runs {
            var file = sound
            // Alternately single bits and whole runs of bytes, as media lose them.
            let region = [128, 12_288, file.count][run / 2 % 3]
            let start = Int.random(in: 0..<region, using: &random)
            let length = run % 2 == 0 ? 1 : Int.random(in: 1...512, using: &random)
            for index in start..<min(start + length, file.count) {
                file[index] ^=
                    run % 2 == 0 ? 1 << UInt8.random(in: 0...7, using: &random) : .random(in: 1...255, using: &random)
            }
            write(file, to: folder.file())
            switch try await examine(folder) {
            case .success(let count): if count > 0 { found += 1 }
            case .failure(let error):
                found += 1
                // The header has a few bytes that make a file look new, or look as if it must not be written.
                #expect(
                    error.code == .damaged || start < 100 && [.newerFormat, .homeNotWritable].contains(error.code),
                    "run \(run), \(length) bytes at \(start)")
            }
        }
        // Much of the file is text in bodies, where one letter is as good as another.
        #expect(found > runs / 3)
    }
}
