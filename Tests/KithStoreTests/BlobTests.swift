import KithDocuments
import KithStore
import Testing

@Suite("Store: blobs and attachments")
struct BlobTests {
    /// Bytes that look random and are the same for one seed.
    private func noise(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
        var generator = SeededGenerator(state: seed)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 8)
        while bytes.count < count { withUnsafeBytes(of: generator.next()) { bytes.append(contentsOf: $0) } }
        return Array(bytes.prefix(count))
    }

    private func attachment(_ name: String, _ blob: Blob, type: String = "text/plain") throws -> DocumentAttachment {
        try DocumentAttachment(name: name, digest: blob.digest, length: blob.length, contentType: type, revpos: 1)
    }

    private func contents(_ database: Database, _ digest: AttachmentDigest, _ range: Range<UInt64>? = nil) throws
        -> [UInt8]
    {
        try database.read { snapshot in
            var all: [UInt8] = []
            try snapshot.readBlob(digest, range: range) { bytes in
                all.append(contentsOf: bytes)
                return true
            }
            return all
        }
    }

    private func stream(_ bytes: [UInt8], by size: Int, into database: Database) async throws -> Blob {
        let writer = try database.makeBlob(length: UInt64(bytes.count))
        for start in stride(from: 0, to: bytes.count, by: size) {
            try await writer.append(Array(bytes[start..<min(start + size, bytes.count)]))
        }
        return try await writer.finish()
    }

    /// A database whose clock a test sets, so that leases end when it says so.
    private func database(_ clock: Shared<Int64> = Shared(0), _ folder: TemporaryFolder? = nil) throws -> Database {
        try Database(
            path: folder?.file() ?? ":memory:", name: DatabaseName("test"), create: true,
            options: DatabaseOptions(writer: .caller, clock: { clock.withLock { $0 } }))
    }

    @Test(
        "what is streamed in comes out, whole and in part, whatever the sizes",
        arguments: [0, 1, 1_000, 262_143, 262_144, 262_145, 1_048_576, 1_048_577, 3_000_000])
    func roundTrip(size: Int) async throws {
        let database = try database()
        let bytes = noise(size)
        for step in [7_919, 262_144, 1_048_576, 5_000_000] {
            let blob = try await stream(bytes, by: step, into: database)
            #expect(blob.length == UInt64(size))
            #expect(try contents(database, blob.digest) == bytes)
            for range in [0..<1, 1..<262_144, 262_143..<262_146, 524_288..<600_000, 2_999_999..<9_999_999] {
                let expected = bytes[min(range.lowerBound, size)..<min(range.upperBound, size)]
                let part = try contents(database, blob.digest, UInt64(range.lowerBound)..<UInt64(range.upperBound))
                #expect(part.elementsEqual(expected))
            }
            #expect(try database.blobPiece(blob.digest, at: 5, count: 10).elementsEqual(bytes.dropFirst(5).prefix(10)))
        }
        #expect(try database.findFaults() == [])
    }

    @Test("the digest is that of SHA-1, and the same bytes are stored once")
    func digest() async throws {
        let database = try database()
        let blob = try await stream(bytes("hello"), by: 2, into: database)
        #expect(blob.digest.description == "sha1-qvTGHdzF6KLavt4PO0gs2a6pQ00=")
        let again = try database.writeBlocking { try $0.addBlob(bytes("hello")) }
        #expect(again == blob)
    }

    @Test("a blob goes away with the last document that uses it, not before, and only after its lease")
    func removal() async throws {
        let clock = Shared<Int64>(0)
        let database = try database(clock)
        let bytes = noise(9_000_000)
        let blob = try await stream(bytes, by: 1_000_000, into: database)
        let list = try AttachmentList([attachment("a", blob), attachment("b", blob)])
        let (first, second) = try database.writeBlocking {
            (
                try $0.put(id("one"), body: self.empty, parent: nil, attachments: list).revision,
                try $0.put(id("two"), body: self.empty, parent: nil, attachments: list).revision
            )
        }
        clock.withLock { $0 = 10_000_000 }
        try database.doHousekeeping()
        // Text edits keep it.
        let edited = try database.writeBlocking {
            try $0.put(id("one"), body: bytes_(#"{"n":1}"#), parent: first, attachments: list).revision
        }
        try database.doHousekeeping()
        #expect(try contents(database, blob.digest) == bytes)
        _ = try database.writeBlocking { try $0.put(id("one"), body: self.empty, parent: edited) }
        try database.doHousekeeping()
        #expect(try database.read { try $0.blob(blob.digest) } == blob)
        #expect(try database.findFaults() == [])
        _ = try database.writeBlocking { try $0.delete(id("two"), parent: second) }
        try database.doHousekeeping()
        #expect(try database.read { try $0.blob(blob.digest) } == nil)
        #expect(try database.findFaults() == [])
    }

    private let empty = Array("{}".utf8)
    private func bytes_(_ text: String) -> [UInt8] { Array(text.utf8) }

    private func incoming(_ revisions: [String], _ blob: Blob?) throws -> IncomingRevision {
        let plain = try KithStoreTests.incoming("a", revisions)
        return IncomingRevision(
            id: plain.id, revision: plain.revision, history: plain.history, body: plain.body,
            attachments: try AttachmentList(blob.map { [try attachment("photo", $0)] } ?? []))
    }

    @Test("it lives while any leaf or kept old body needs it: conflicts, purge, dropped collections")
    func sharing() throws {
        let database = try database()
        let orders = try CollectionName("orders")
        func isStored(_ blob: Blob) throws -> Bool {
            try database.doHousekeeping()
            #expect(try database.findFaults() == [])
            return try database.read { try $0.blob(blob.digest) } != nil
        }
        let blob = try database.writeBlocking { transaction in
            let blob = try transaction.addBlob(Array("in a branch".utf8))
            try transaction.insert(incoming(["2-aa", "1-aa"], blob))
            try transaction.insert(incoming(["2-bb", "1-aa"], nil))
            return blob
        }
        // The winner has none, the loser has it.
        #expect(try isStored(blob))
        let loser = try database.read { try $0.document(id("a"), revision: revision("2-aa")) }
        #expect(loser?.attachments["photo"]?.digest == blob.digest)
        #expect(try database.read { try $0.revisionForTransfer(id("a"), revision("2-aa")) }?.attachments.count == 1)
        _ = try database.writeBlocking { try $0.purge(id("a"), revisions: [revision("2-aa")]) }
        #expect(try !isStored(blob))

        let second = try database.writeBlocking { transaction in
            let blob = try transaction.addBlob(Array("in a collection".utf8))
            try transaction.createCollection(orders)
            try transaction.collection(orders).insert(incoming(["1-cc"], blob))
            return blob
        }
        #expect(try isStored(second))
        _ = try database.writeBlocking { try $0.dropCollection(orders) }
        #expect(try !isStored(second))

        let third = try database.writeBlocking { transaction in
            try transaction.setSettings(DatabaseSettings(revisionsLimit: 2, keepsOldBodies: true))
            let blob = try transaction.addBlob(Array("in an old body".utf8))
            try transaction.purge(id("a"))
            try transaction.insert(incoming(["1-dd"], blob))
            try transaction.insert(incoming(["2-dd", "1-dd"], nil))
            return blob
        }
        #expect(try isStored(third))
        _ = try database.writeBlocking { try $0.insert(incoming(["3-dd", "2-dd"], nil)) }
        // The limit of revisions has dropped the old body.
        #expect(try !isStored(third))
    }

    @Test("a document whose blob is missing or of another length is refused by name, and the rest is stored")
    func missing() throws {
        let database = try database()
        let blob = try database.writeBlocking { transaction in
            let blob = try transaction.addBlob(Array("here".utf8))
            try transaction.put(
                id("keeps it"), body: self.empty, parent: nil, attachments: AttachmentList([attachment("a", blob)]))
            return blob
        }
        let unknown = try AttachmentDigest(bytes: [UInt8](repeating: 7, count: 20))
        let wrong = [
            try DocumentAttachment(name: "a", digest: unknown, length: 4, contentType: nil, revpos: nil),
            try DocumentAttachment(name: "a", digest: blob.digest, length: 5, contentType: nil, revpos: nil),
        ]
        for attachment in wrong {
            let list = try AttachmentList([attachment])
            try database.writeBlocking { transaction in
                #expect(
                    code { try transaction.put(id("bad"), body: self.empty, parent: nil, attachments: list) }
                        == .attachmentMissing)
                let incoming = IncomingRevision(
                    id: try id("bad"), revision: try revision("1-aa"), body: self.empty, attachments: list)
                #expect(code { try transaction.insert(incoming) } == .attachmentMissing)
                try transaction.setLocalDocument("after", [1])
            }
        }
        #expect(try database.read { try $0.localDocument("after") } == [1])
        #expect(try database.read { try $0.documentCount } == 1)
    }

    @Test("name, type and bytes of an attachment make another revision; the same ones make the same")
    func revisions() throws {
        let database = try database()
        let revisions = try database.writeBlocking { transaction in
            let (x, y) = (try transaction.addBlob([1]), try transaction.addBlob([2]))
            let lists = [
                AttachmentList(), try AttachmentList([attachment("a", x)]), try AttachmentList([attachment("b", x)]),
                try AttachmentList([attachment("a", y)]), try AttachmentList([attachment("a", x, type: "image/png")]),
                try AttachmentList([attachment("a", x)]),
            ]
            return try lists.enumerated().map { index, list in
                try transaction.put(id("d\(index)"), body: self.empty, parent: nil, attachments: list).revision
            }
        }
        #expect(Set(revisions).count == 5)
        #expect(revisions[1] == revisions[5])
    }

    @Test("bytes that are not those announced are refused, and leave nothing behind")
    func announced() async throws {
        let database = try database()
        let short = try database.makeBlob(length: 10)
        try await short.append([1, 2, 3])
        await #expect(throws: KithError.self) { _ = try await short.finish() }
        let long = try database.makeBlob(length: 2)
        await #expect(throws: KithError.self) { try await long.append([1, 2, 3]) }
        await #expect(throws: KithError.self) { try await long.append([1]) }
        let other = try database.makeBlob(digest: AttachmentDigest(bytes: [UInt8](repeating: 0, count: 20)))
        try await other.append(noise(2_000_000))
        await #expect(throws: KithError.self) { _ = try await other.finish() }
        let cancelled = try database.makeBlob()
        try await cancelled.append(noise(2_000_000))
        cancelled.cancel()
        await #expect(throws: KithError.self) { _ = try await cancelled.finish() }
        try database.doHousekeeping()
        #expect(try database.findFaults() == [])
        #expect(try database.blobTableCounts() == [0, 0])
    }

    @Test(
        "a blob that a dead process left half goes away when its lease has ended; one that is finished stays till then")
    func crash() async throws {
        let clock = Shared<Int64>(0)
        let folder = TemporaryFolder()
        let original = try database(clock, folder)
        let half = try original.makeBlob()
        try await half.append(noise(2_000_000))
        let whole = try await stream(noise(300_000), by: 300_000, into: original)
        copyAsCrashImage(folder.file(), to: folder.file("crashed.kith"))
        let crashed = try Database(
            path: folder.file("crashed.kith"), name: DatabaseName("test"), create: false,
            options: DatabaseOptions(writer: .caller, clock: { clock.withLock { $0 } }))
        #expect(try crashed.read { try $0.blob(whole.digest) } == whole)
        #expect(try crashed.blobTableCounts()[0] == 2)
        clock.withLock { $0 = 3_600_001 }
        try crashed.doHousekeeping()
        #expect(try crashed.blobTableCounts() == [0, 0])
        #expect(try crashed.findFaults() == [])
    }

    @Test("bytes that changed on the disk are found when they are read, also in a range, and are not given out")
    func damaged() async throws {
        let folder = TemporaryFolder()
        let database = try database(Shared(0), folder)
        let bytes = noise(700_000)
        let blob = try await stream(bytes, by: 700_000, into: database)
        try database.changeBlobPiece(1) { $0[100] ^= 1 }
        #expect(try contents(database, blob.digest, 0..<262_144).count == 262_144)
        #expect(code { _ = try contents(database, blob.digest) } == .damaged)
        #expect(code { _ = try contents(database, blob.digest, 300_000..<300_001) } == .damaged)
        #expect(
            code {
                _ = try database.blobPiece(AttachmentDigest(bytes: [UInt8](repeating: 9, count: 20)), at: 0, count: 1)
            } == .notFound)
    }

    private func resume(_ database: Database, _ blob: Blob) async throws -> BlobWriter {
        try await withCheckedThrowingContinuation { continuation in
            database.resumeBlob(digest: blob.digest, length: blob.length) { continuation.resume(with: $0) }
        }
    }

    /// A copy of the database as a process leaves it that is killed.
    private func crashImage(_ folder: TemporaryFolder, _ clock: Shared<Int64>) throws -> Database {
        copyAsCrashImage(folder.file(), to: folder.file("crashed.kith"))
        return try Database(
            path: folder.file("crashed.kith"), name: DatabaseName("test"), create: false,
            options: DatabaseOptions(writer: .caller, clock: { clock.withLock { $0 } }))
    }

    @Test(
        "the beginning of a blob that a dead process left is taken up again, once, for a day, and only if it is right")
    func resumption() async throws {
        let clock = Shared<Int64>(0)
        let folder = TemporaryFolder()
        let bytes = noise(3_000_000)
        let blob = try await stream(bytes, by: 3_000_000, into: try database())
        let other = Blob(digest: blob.digest, length: 3_000_001)
        let original = try database(clock, folder)
        let half = try original.makeBlob(digest: blob.digest, length: blob.length)
        try await half.append(Array(bytes[..<2_500_000]))
        // It is being added to, so nobody else takes it.
        #expect(try await resume(original, blob).byteCount == 0)

        let crashed = try crashImage(folder, clock)
        clock.withLock { $0 = 86_000_000 }
        try crashed.doHousekeeping()
        #expect(try await resume(crashed, other).byteCount == 0)
        let writer = try await resume(crashed, blob)
        #expect(writer.byteCount == 2 << 20)
        #expect(try await resume(crashed, blob).byteCount == 0)
        try await writer.append(Array(bytes[(2 << 20)...]))
        #expect(try await writer.finish() == blob)
        #expect(try contents(crashed, blob.digest) == bytes)
        #expect(try crashed.findFaults() == [])
        crashed.close()
        try Database.removeFiles(at: folder.file("crashed.kith"), name: DatabaseName("test"))

        // Damaged: begun anew. Wrong bytes behind it: it does not come back.
        for isDamaged in [true, false] {
            clock.withLock { $0 = 0 }
            let crashed = try crashImage(folder, clock)
            if isDamaged { try crashed.changeBlobPiece(2) { $0[9] ^= 1 } }
            let writer = try await resume(crashed, blob)
            #expect(writer.byteCount == (isDamaged ? 0 : 2 << 20))
            try await writer.append([UInt8](repeating: 0, count: bytes.count - Int(writer.byteCount)))
            await #expect(throws: KithError.self) { _ = try await writer.finish() }
            #expect(try await resume(crashed, blob).byteCount == 0)
            try crashed.doHousekeeping()
            #expect(try crashed.blobTableCounts() == [0, 0])
            crashed.close()
            try Database.removeFiles(at: folder.file("crashed.kith"), name: DatabaseName("test"))
        }
        let late = try crashImage(folder, clock)
        clock.withLock { $0 = 86_400_001 }
        #expect(try await resume(late, blob).byteCount == 0)
        try late.doHousekeeping()
        #expect(try late.blobTableCounts() == [0, 0])
    }

    @Test("a writer that is let go of leaves its beginning to the next one; of many beginnings the newest stay")
    func beginnings() async throws {
        let clock = Shared<Int64>(0)
        let database = try database(clock)
        let bytes = noise(1_500_000)
        let digest = try AttachmentDigest(bytes: [UInt8](repeating: 1, count: 20))
        let expected = Blob(digest: digest, length: 2_000_000)
        do {
            let writer = try database.makeBlob(digest: digest, length: expected.length)
            try await writer.append(bytes)
        }
        let again = try await resume(database, expected)
        #expect(again.byteCount == 1 << 20)
        again.cancel()
        #expect(try await resume(database, expected).byteCount == 0)
        try database.doHousekeeping()
        for number in 0..<70 {
            clock.withLock { $0 += 1 }
            let digest = try AttachmentDigest(bytes: [UInt8](repeating: UInt8(number), count: 20))
            try database.leaveBeginningHere(Array(bytes[..<10]), of: Blob(digest: digest, length: 20))
        }
        try database.doHousekeeping()
        #expect(try database.blobTableCounts() == [64, 64])
    }

    @Test("other beginnings of a blob go with the last byte of the one that is finished first")
    func finishedByAnother() async throws {
        let database = try database()
        let bytes = noise(1_500_000)
        let blob = try await stream(bytes, by: bytes.count, into: try self.database())
        do {
            let lost = try database.makeBlob(digest: blob.digest, length: blob.length)
            try await lost.append(Array(bytes[..<1_300_000]))
        }
        let writer = try database.makeBlob(digest: blob.digest, length: blob.length)
        try await writer.append(bytes)
        #expect(try await writer.finish() == blob)
        try database.doHousekeeping()
        #expect(try database.blobTableCounts() == [1, 6])
    }

    private func refusal(_ body: () async throws -> Void) async -> ErrorCode? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? KithError)?.code
        }
    }

    @Test(
        "of two processes that go on with one beginning the first to add keeps it, whatever the other does",
        arguments: [0, 1])
    func twoProcesses(first: Int) async throws {
        let folder = TemporaryFolder()
        let bytes = noise(4_000_000)
        let databases = [try database(Shared(0), folder), try database(Shared(0), folder)]
        let blob = try await stream(bytes, by: bytes.count, into: try database())
        let begins = try databases[0].makeBlob(digest: blob.digest, length: blob.length)
        try await begins.append(Array(bytes[..<(3 << 19)]))
        let writers = [begins, try await resume(databases[1], blob)]
        #expect(writers[1].byteCount == 1 << 20)
        let (keeps, loses) = (writers[first], writers[1 - first])
        try await keeps.append(Array(bytes[Int(keeps.byteCount)..<3_200_000]))
        let rest = Array(bytes[Int(loses.byteCount)..<3_200_000])
        #expect(await refusal { try await loses.append(rest) } == .notFound)
        loses.cancel()
        try await keeps.append(Array(bytes[3_200_000...]))
        #expect(try await keeps.finish() == blob)
        #expect(try contents(databases[0], blob.digest) == bytes)
        #expect(try databases[0].findFaults() == [])
        for database in databases { database.close() }
    }

    @Test("a beginning that is let go of is removed when its time has come, by a process that goes on running")
    func removedOnTime() async throws {
        let clock = Shared<Int64>(0)
        let database = try Database(
            path: ":memory:", name: DatabaseName("test"), create: true,
            options: DatabaseOptions(clock: { clock.withLock { $0 } }))
        defer { database.close() }
        do {
            let digest = try AttachmentDigest(bytes: [UInt8](repeating: 1, count: 20))
            let writer = try database.makeBlob(digest: digest, length: 2_000_000)
            try await writer.append(noise(1_500_000))
        }
        _ = try await database.write { try $0.setLocalDocument("any", [1]) }
        #expect(try database.blobTableCounts()[0] == 1)
        // So late that the removal goes before what waits.
        clock.withLock { $0 = 86_400_000 + 2_000 }
        _ = try await database.write { try $0.setLocalDocument("any", [2]) }
        #expect(try database.blobTableCounts() == [0, 0])
    }

    @Test("a disk that is full keeps the beginning that met it, and makes room of the others")
    func fullDisk() async throws {
        let (folder, vfs) = (TemporaryFolder(), try FaultVFS())
        var options = DatabaseOptions(writer: .caller, clock: { 0 })
        options.vfsName = vfs.name
        let database = try Database(path: folder.file(), name: DatabaseName("test"), create: true, options: options)
        let blobs = try [1, 2].map {
            Blob(digest: try AttachmentDigest(bytes: [UInt8](repeating: $0, count: 20)), length: 4_000_000)
        }
        do {
            let other = try database.makeBlob(digest: blobs[0].digest, length: blobs[0].length)
            try await other.append(noise(1_500_000))
        }
        let writer = try database.makeBlob(digest: blobs[1].digest, length: blobs[1].length)
        try await writer.append(noise(1_500_000))
        vfs.arm(.full(at: 1))
        #expect(await refusal { try await writer.append(noise(1_500_000)) } == .diskFull)
        vfs.disarm()
        #expect(try await resume(database, blobs[0]).byteCount == 0)
        #expect(try await resume(database, blobs[1]).byteCount == 1 << 20)
        database.close()
    }

    @Test("a beginning that could not be taken up for a fault is there for the next one")
    func takeUpFails() async throws {
        let database = try database()
        let blob = Blob(digest: try AttachmentDigest(bytes: [UInt8](repeating: 1, count: 20)), length: 4_000_000)
        do {
            let writer = try database.makeBlob(digest: blob.digest, length: blob.length)
            try await writer.append(noise(1_500_000))
        }
        try database.setCommitsFail(true)
        #expect(try await resume(database, blob).byteCount == 0)
        try database.setCommitsFail(false)
        #expect(try await resume(database, blob).byteCount == 1 << 20)
    }

    @Test("checksums of pieces are XXH64, and those of older files still hold")
    func checksums() async throws {
        let vectors: [(String, UInt64)] = [
            ("", 0xEF46_DB37_51D8_E999), ("a", 0xD24E_C4F1_A98C_6E5B), ("abc", 0x44BC_2CF5_AD77_0999),
            ("Nobody inspects the spammish repetition", 0xFBCE_A83C_8A37_8BF1),
        ]
        for (text, expected) in vectors {
            let checksum = Array(text.utf8).withUnsafeBytes { PieceChecksum.of($0) }
            #expect(UInt64(bitPattern: Int64(checksum)) == expected, "\(text)")
        }
        let database = try database()
        let bytes = noise(300_000)
        let blob = try await stream(bytes, by: 300_000, into: database)
        try database.makeOldPieceChecksums()
        #expect(try contents(database, blob.digest) == bytes)
        #expect(try database.findFaults() == [])
        try database.changeBlobPiece(1) { $0[0] ^= 1 }
        #expect(code { _ = try contents(database, blob.digest) } == .damaged)
    }

    @Test("a blob whose removal has begun takes no further bytes, and does not come back in parts")
    func removalUnderWay() async throws {
        let clock = Shared<Int64>(0)
        let database = try database(clock)
        let bytes = noise(11_000_000)
        let writer = try database.makeBlob()
        try await writer.append(bytes)
        clock.withLock { $0 = 3_600_001 }
        // One step of the removal: what is left is more than a step takes.
        _ = try database.writeBlocking { try $0.removeUnusedBlobsHere(now: 3_600_001) }
        await #expect(throws: KithError.self) { _ = try await writer.finish() }
        try database.doHousekeeping()
        #expect(try database.blobTableCounts() == [0, 0])
        let again = try await stream(bytes, by: 1_000_000, into: database)
        #expect(try contents(database, again.digest) == bytes)
    }

    @Test("one blob can be read while another is")
    func nestedReads() throws {
        let database = try database()
        let (one, two) = try database.writeBlocking { transaction in
            let blobs = (try transaction.addBlob(Array("one".utf8)), try transaction.addBlob(Array("two".utf8)))
            let list = try AttachmentList([attachment("1", blobs.0), attachment("2", blobs.1)])
            try transaction.put(id("a"), body: self.empty, parent: nil, attachments: list)
            return blobs
        }
        let found = Shared<[String]>([])
        try database.read { snapshot in
            try snapshot.readBlob(one.digest) { outer in
                try snapshot.readBlob(two.digest) { inner in
                    found.withLock { $0 += [text(Array(outer)), text(Array(inner))] }
                    return true
                }
                return true
            }
        }
        #expect(found.withLock { $0 } == ["one", "two"])
    }

    @Test("the digest of a database does not depend on when an attachment is said to have come")
    func revpos() throws {
        var digests: Set<String> = []
        for revpos in [1, 2] as [UInt64] {
            let database = try database()
            try database.writeBlocking { transaction in
                let blob = try transaction.addBlob([1])
                let attachment = try DocumentAttachment(
                    name: "a", digest: blob.digest, length: blob.length, contentType: nil, revpos: revpos)
                try transaction.put(
                    id("a"), body: self.empty, parent: nil, attachments: AttachmentList([attachment]))
            }
            digests.insert(try database.read { try $0.digest().hex })
        }
        #expect(digests.count == 1)
    }
}
