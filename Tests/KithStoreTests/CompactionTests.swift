import Glibc
import KithDocuments
import KithStore
import Testing

@Suite("Store: compaction")
struct CompactionTests {
    private func put(_ database: Database, _ name: String, _ size: Int, parent: RevisionID? = nil) throws -> RevisionID
    {
        let body = bytes(#"{"x":"\#(String(repeating: "x", count: size))"}"#)
        return try database.writeBlocking { try $0.put(id(name), body: body, parent: parent) }.revision
    }

    private func digests(_ database: Database) throws -> [DatabaseDigest] {
        try database.read { snapshot in
            try snapshot.collections().map { try snapshot.collection($0).digest() }
        }
    }

    /// A database with 60 documents of three revisions each in two collections, whose old bodies are kept, and conflicts.
    private func fill(_ database: Database) throws {
        let stock = try CollectionName("stock")
        try database.writeBlocking { transaction in
            try transaction.setSettings(DatabaseSettings(keepsOldBodies: true))
            try transaction.createCollection(stock)
        }
        for number in 0..<60 {
            try database.writeBlocking { transaction in
                for view in [transaction, try transaction.collection(stock)] {
                    let name = "doc \(number)"
                    var parent: RevisionID?
                    for step in 0..<3 {
                        let text = String(repeating: "x", count: 20_000 + step)
                        parent = try view.put(id(name), body: bytes(#"{"x":"\#(text)"}"#), parent: parent).revision
                    }
                    if number % 5 == 0 { try view.insert(incoming(name, ["3-ff", "2-ee", "1-dd"])) }
                }
            }
        }
    }

    @Test("old bodies go, the file shrinks, and nothing that replicates changes")
    func oldBodies() async throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder)
        defer { database.close() }
        try fill(database)
        let (before, sequence) = (try digests(database), try database.read { try $0.lastSequence })
        let history = try database.read { try $0.history(id("doc 1"), $0.document(id("doc 1"))!.revision) }
        #expect(history?.count == 2)
        #expect(try database.read { try $0.document(id("doc 1"), revision: history![0]) } != nil)
        let heard = Shared(0)
        let observation = database.observe { _ in heard.withLock { $0 += 1 } }
        let steps = Shared<[MaintenanceProgress]>([])
        let result = try await database.compact { step in steps.withLock { $0.append(step) } }
        observation.cancel()
        #expect(result.oldBodies == 240)
        #expect(result.bytesAfter == database.sizeOnDisk)
        // Of three bodies of 20,000 bytes one is left.
        #expect(result.bytesAfter < result.bytesBefore / 2 && result.bytesAfter > 120 * 20_000)
        #expect(try digests(database) == before)
        #expect(try database.read { try $0.lastSequence } == sequence && heard.withLock { $0 } == 0)
        #expect(try database.read { try $0.document(id("doc 1"), revision: history![0]) } == nil)
        let after = try database.read { try $0.history(id("doc 1"), $0.document(id("doc 1"))!.revision) }
        #expect(after == history)
        #expect(try database.findFaults() == [])
        let phases = steps.withLock { $0 }
        #expect(phases.contains { $0.phase == .oldBodies } && phases.contains { $0.phase == .freePages })
        #expect(phases.allSatisfy { $0.completed <= $0.total })
        #expect(try await database.compact().oldBodies == 0)
        #expect(try digests(database) == before)
    }

    @Test("others write and read between the steps of a compaction")
    func othersGoOn() async throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder)
        defer { database.close() }
        try fill(database)
        let before = try digests(database)
        let done = Shared(false)
        let (written, longest) = (Shared(0), Shared(Duration.zero))
        async let writing: Void = {
            while !done.withLock({ $0 }) {
                let number = written.withLock { $0 }
                let began = ContinuousClock.now
                _ = try await database.write { try $0.put(id("new \(number)"), body: bytes("{}"), parent: nil) }
                _ = try database.read { try $0.document(id("new \(number)")) }
                let took = ContinuousClock.now - began
                longest.withLock { $0 = max($0, took) }
                written.withLock { $0 += 1 }
            }
        }()
        // A step that held the writer could not be followed by another's write before the next.
        let seen = Shared<[Int]>([])
        let result = try await database.compact { _ in
            let count = written.withLock { $0 }
            while written.withLock({ $0 }) < count + 1 { usleep(200) }
            seen.withLock { $0.append(count) }
        }
        done.withLock { $0 = true }
        try await writing
        #expect(result.oldBodies == 240)
        let counts = seen.withLock { $0 }
        #expect(counts.count > 3 && Set(counts).count == counts.count)
        print("compaction: longest write and read beside it \(longest.withLock { $0 })")
        let new = written.withLock { $0 }
        try database.writeBlocking { transaction in
            for number in 0..<new { try transaction.purge(id("new \(number)")) }
        }
        #expect(try digests(database) == before)
        #expect(try database.findFaults() == [])
    }

    @Test("a compaction that is cancelled ends between two steps, and leaves a sound database")
    func cancelled() async throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder)
        defer { database.close() }
        try fill(database)
        let before = try digests(database)
        let (begun, goOn) = (Gate(), Gate())
        let task = Task {
            try await database.compact { _ in
                begun.open()
                goOn.wait()
            }
        }
        await begun.waitInTask()
        task.cancel()
        goOn.open()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try digests(database) == before)
        #expect(try database.findFaults() == [])
        #expect(try await database.compact().bytesAfter < 120 * 30_000)
    }

    @Test("a file of the time before format 2 is rewritten, and gives pages back in steps from then on")
    func fileWithoutIncrementalVacuum() async throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder)
        try fill(database)
        try await database.write { try $0.setSettings(DatabaseSettings()) }
        let before = try digests(database)
        database.close()
        try RawFile(folder.file()).execute("PRAGMA journal_mode = DELETE; PRAGMA auto_vacuum = NONE; VACUUM;")
        try RawFile(folder.file()).execute("PRAGMA journal_mode = WAL")
        #expect(try RawFile(folder.file()).number("PRAGMA auto_vacuum") == 0)
        let old = try fileDatabase(folder, create: false)
        let result = try await old.compact()
        #expect(result.oldBodies == 240 && result.bytesAfter < result.bytesBefore / 2)
        #expect(try digests(old) == before)
        #expect(try old.findFaults() == [])
        old.close()
        #expect(try RawFile(folder.file()).number("PRAGMA auto_vacuum") == 2)
    }

    @Test("attachments that no revision has go, those that are leased or used stay")
    func blobs() async throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder)
        _ = try database.writeBlocking { try $0.insert(incoming("plain", ["1-aa"])) }
        database.close()
        // Number 1 is used, 2 is leased, 3 was never completed, 4 is unused; 5 is unused and longer than one step drops.
        let later = DatabaseOptions.systemClock() + 3_600_000
        let pieces = (0..<40).map { "((5 << 24) + \($0), 0, zeroblob(262144))" }.joined(separator: ", ")
        try RawFile(folder.file()).execute(
            """
            INSERT INTO blob (number, digest, length, uses, leased_until)
            VALUES (1, x'aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d', 5, 1, 0), (2, NULL, 5, 0, \(later)),
                (3, NULL, 5, 0, 0), (4, x'0004', 5, 0, 0), (5, x'0005', \(40 * 262_144), 0, 0);
            INSERT INTO blob_piece VALUES (1 << 24, 3238736544897475342, CAST('hello' AS BLOB)), (2 << 24, 0, x'00'),
                (3 << 24, 0, x'00'), (4 << 24, 0, x'00'), \(pieces);
            INSERT INTO blob_use VALUES (1, 'plain', '1-aa', 1);
            UPDATE document_1 SET flags = 8, attachments = '{"a":{"content_type":"text/plain",\
            "digest":"sha1-qvTGHdzF6KLavt4PO0gs2a6pQ00=","length":5,"stub":true}}';
            """)
        let again = try fileDatabase(folder, create: false)
        // Housekeeping, which began when the file was opened, may have been quicker with some of it.
        let result = try await again.compact()
        #expect(result.blobs <= 3)
        #expect(result.bytesAfter < 200_000)
        #expect(try again.findFaults() == [])
        again.close()
        let file = try RawFile(folder.file())
        #expect(try file.number("SELECT sum(number) FROM blob") == 3)
        #expect(try file.number("SELECT count(*) FROM blob_piece") == 2)
    }

    @Test("a database in memory can be compacted, too")
    func inMemory() async throws {
        let database = try memoryDatabase()
        try fill(database)
        let before = try digests(database)
        let result = try await database.compact()
        #expect(result.oldBodies == 240 && result.bytesAfter == 0)
        #expect(try digests(database) == before)
        #expect(try database.findFaults() == [])
    }
}
