import KithDocuments
import KithStore
import Testing

@Suite("Readers")
struct ReaderTests {
    @Test("a read sees one state while others write")
    func snapshot() throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder)
        defer { database.close() }
        try database.read { snapshot in
            #expect(try snapshot.documentCount == 0)
            try database.writeBlocking { _ = try $0.put(id("a"), body: bytes("{}"), parent: nil) }
            #expect(try snapshot.documentCount == 0)
            #expect(try snapshot.document(id("a")) == nil)
            // A read inside it is a later one.
            #expect(try database.read { try $0.documentCount } == 1)
        }
        #expect(try database.read { try $0.documentCount } == 1)
    }

    @Test("two readers beside a writer never see half of a transaction")
    func readersBesideWriter() async throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder)
        defer { database.close() }
        let isDone = Shared(false)
        try await withThrowingTaskGroup(of: Int.self) { group in
            group.addTask {
                var parents: [RevisionID?] = [nil, nil]
                for number in 0..<200 {
                    let before = parents
                    parents = try await database.write { transaction in
                        let body = bytes(#"{"n":\#(number)}"#)
                        return [
                            try transaction.put(id("left"), body: body, parent: before[0]).revision,
                            try transaction.put(id("right"), body: body, parent: before[1]).revision,
                        ]
                    }
                }
                isDone.withLock { $0 = true }
                return 0
            }
            for _ in 0..<2 {
                group.addTask {
                    var reads = 0
                    var isLast = false
                    repeat {
                        isLast = isDone.withLock { $0 }
                        let bodies = try await withCheckedThrowingContinuation { continuation in
                            database.submitRead({ snapshot in
                                [try snapshot.document(id("left"))?.body, try snapshot.document(id("right"))?.body]
                            }) { continuation.resume(with: $0) }
                        }
                        #expect(bodies[0] == bodies[1])
                        if isLast { #expect(bodies[0] == bytes(#"{"n":199}"#)) }
                        reads += 1
                    } while !isLast
                    return reads
                }
            }
            for try await _ in group {}
        }
        #expect(try database.findFaults().isEmpty)
    }

    @Test("what a submitted read throws is told to its completion")
    func throwing() throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder)
        defer { database.close() }
        let outcome = Promise<Bool>()
        database.submitRead({ _ in throw Refusal() }) { (result: Result<Int, any Error>) in
            if case .failure(let error) = result { outcome.set(error is Refusal) } else { outcome.set(false) }
        }
        #expect(outcome.wait() == true)
    }

    @Test("many submitted reads are all told")
    func many() throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder)
        defer { database.close() }
        let count = Shared(0)
        let done = Gate()
        for _ in 0..<500 {
            database.submitRead({ try $0.lastSequence }) { _ in
                let isLast = count.withLock { count in
                    count += 1
                    return count == 500
                }
                if isLast { done.open() }
            }
        }
        done.wait()
        #expect(count.withLock { $0 } == 500)
    }
}
