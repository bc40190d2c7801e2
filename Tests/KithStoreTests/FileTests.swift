import CSQLite
import Glibc
import KithDocuments
import KithStore
import Testing

@Suite("The file")
struct FileTests {
    @Test("what was written is there after closing, under the same identity")
    func reopen() throws {
        let folder = TemporaryFolder()
        let first = try fileDatabase(folder)
        let written = try first.writeBlocking { try $0.put(id("a"), body: bytes(#"{"n":1}"#), parent: nil) }
        let (publicID, privateID) = (first.publicID, first.privateID)
        #expect(publicID.utf8.count == 32 && privateID.utf8.count == 32 && publicID != privateID)
        #expect(first.sizeOnDisk > 0)
        first.close()
        let second = try fileDatabase(folder, create: false)
        defer { second.close() }
        #expect([second.publicID, second.privateID] == [publicID, privateID])
        #expect(try second.read { try $0.document(id("a")) }?.revision == written.revision)
        #expect(try second.read { try $0.lastSequence } == written.sequence)
        let other = try memoryDatabase()
        #expect(other.publicID != publicID)
    }

    @Test("a database that is not there is not made by opening it")
    func notThere() throws {
        let folder = TemporaryFolder()
        #expect(code { _ = try fileDatabase(folder, create: false) } == .databaseNotFound)
        #expect(contents(folder.file()) == nil)
    }

    @Test("a log that was left behind by a file that is gone is not played into a new database of the same name")
    func logOfAnotherFile() throws {
        let folder = TemporaryFolder()
        let old = try fileDatabase(folder)
        for number in 0..<50 {
            _ = try old.writeBlocking { try $0.put(id("old-\(number)"), body: bytes("{}"), parent: nil) }
        }
        // As a kill leaves it: the log beside the file.
        let log = try #require(contents(folder.file() + "-wal"))
        let oldID = old.privateID
        old.close()
        unlink(folder.file())
        write(log, to: folder.file() + "-wal")
        let new = try fileDatabase(folder)
        defer { new.close() }
        #expect(new.privateID != oldID)
        #expect(try new.read { try $0.documentCount } == 0)
        #expect(try new.findFaults().isEmpty)
    }

    @Test("a new file is readable by its owner only, and what a crash left of a draft does no harm")
    func creation() throws {
        let folder = TemporaryFolder()
        write(bytes("half a draft"), to: folder.file() + ".kith-creating")
        let database = try fileDatabase(folder)
        database.close()
        var information = stat()
        #expect(stat(folder.file(), &information) == 0)
        #expect(information.st_mode & 0o777 == 0o600)
        #expect(contents(folder.file() + ".kith-creating") == nil)
        try Database.removeFiles(at: folder.file(), name: DatabaseName("test"))
        #expect(contents(folder.file()) == nil)
    }

    @Test("nothing acknowledged is lost when the machine stops, and nothing half-done is seen")
    func crashImage() async throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder)
        defer { database.close() }
        let acknowledged = Shared<[Int]>([])
        await withTaskGroup(of: Void.self) { group in
            for writer in 0..<4 {
                group.addTask {
                    for number in 0..<50 {
                        let name = writer * 1000 + number
                        try? await database.write {
                            _ = try $0.put(id("\(name)"), body: bytes(#"{"n":\#(name)}"#), parent: nil)
                        }
                        acknowledged.withLock { $0.append(name) }
                    }
                }
            }
        }
        // Once while nothing is under way, once in the middle of a transaction that has already reached the log.
        copyAsCrashImage(folder.file(), to: folder.file("quiet"))
        try await database.write { transaction in
            let padding = String(repeating: "x", count: 4000)
            for number in 0..<6000 {
                try transaction.put(id("under way \(number)"), body: bytes(#"{"x":"\#(padding)"}"#), parent: nil)
            }
            copyAsCrashImage(folder.file(), to: folder.file("busy"))
        }
        let quietLog = contents(folder.file("quiet-wal")) ?? []
        let busyLog = contents(folder.file("busy-wal")) ?? []
        #expect(!quietLog.isEmpty && busyLog.count > quietLog.count)
        for name in ["quiet", "busy"] {
            let image = try Database(path: folder.file(name), name: DatabaseName("image"), create: false)
            defer { image.close() }
            #expect(try image.findFaults().isEmpty)
            #expect(try image.read { try $0.documentCount } == 200)
            for number in acknowledged.withLock({ $0 }) {
                let document = try image.read { try $0.document(id("\(number)")) }
                #expect(document.map { text($0.body) } == #"{"n":\#(number)}"#)
            }
            // The next sequence is above all that were given.
            let sequence = try image.writeBlocking { try $0.put(id("next"), body: bytes("{}"), parent: nil).sequence }
            #expect(sequence == 201)
        }
    }

    @Test("a log that ends anywhere gives a state that was once committed")
    func cutLog() throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder, options: DatabaseOptions(writer: .caller))
        for number in 0..<20 {
            try database.writeBlocking { transaction in
                // Two documents that are always there together.
                try transaction.put(id("left \(number)"), body: bytes("{}"), parent: nil)
                try transaction.put(id("right \(number)"), body: bytes("{}"), parent: nil)
            }
        }
        let main = try #require(contents(folder.file()))
        let log = try #require(contents(folder.file() + "-wal"))
        database.close()
        var last = 0
        for length in stride(from: 0, through: log.count, by: max(1, log.count / 37)) {
            write(main, to: folder.file("cut"))
            write(Array(log[..<length]), to: folder.file("cut-wal"))
            let image = try Database(path: folder.file("cut"), name: DatabaseName("cut"), create: false)
            #expect(try image.findFaults().isEmpty)
            let count = try image.read { try $0.documentCount }
            #expect(count % 2 == 0 && count >= last)
            last = count
            image.close()
        }
    }

    @Test("a file from a newer version is refused and stays as it is")
    func newerFormat() throws {
        let folder = TemporaryFolder()
        try fileDatabase(folder).close()
        var file = try #require(contents(folder.file()))
        // https://www.sqlite.org/fileformat.html: the user version is at byte 60, highest byte first.
        file[63] = 9
        write(file, to: folder.file())
        #expect(code { _ = try fileDatabase(folder) } == .newerFormat)
        #expect(contents(folder.file()) == file)
        #expect(contents(folder.file() + "-wal") == nil && contents(folder.file() + "-shm") == nil)
    }

    @Test("a newer version that is only in the log is refused too")
    func newerFormatInLog() throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder)
        var handle: OpaquePointer?
        #expect(sqlite3_open(folder.file(), &handle) == SQLITE_OK)
        #expect(sqlite3_exec(handle, "PRAGMA user_version = 9", nil, nil, nil) == SQLITE_OK)
        copyAsCrashImage(folder.file(), to: folder.file("copy"))
        sqlite3_close(handle)
        database.close()
        let before = try #require(contents(folder.file("copy")))
        let log = try #require(contents(folder.file("copy-wal")))
        #expect(
            code { _ = try Database(path: folder.file("copy"), name: DatabaseName("copy"), create: false) }
                == .newerFormat)
        #expect(contents(folder.file("copy")) == before && contents(folder.file("copy-wal")) == log)
    }

    @Test(
        "what is no database of ours is refused and stays as it is",
        arguments: ["empty", "text", "short", "other", "cut"])
    func notOurs(kind: String) throws {
        let folder = TemporaryFolder()
        switch kind {
        case "empty": write([], to: folder.file())
        case "text": write(bytes(String(repeating: "This is no database. ", count: 300)), to: folder.file())
        case "short": write(bytes("SQLite format 3\0"), to: folder.file())
        case "other":
            var handle: OpaquePointer?
            sqlite3_open(folder.file(), &handle)
            sqlite3_exec(handle, "CREATE TABLE document (x)", nil, nil, nil)
            sqlite3_close(handle)
        default:
            try fileDatabase(folder).close()
            let file = try #require(contents(folder.file()))
            write(Array(file[..<(file.count / 2)]), to: folder.file())
        }
        let before = contents(folder.file())
        for create in [true, false] {
            #expect(code { _ = try fileDatabase(folder, create: create) } == .damaged)
        }
        #expect(contents(folder.file()) == before)
    }

    @Test("a damaged page is reported as such, and does not end the process")
    func damagedPage() throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder)
        try database.writeBlocking { transaction in
            for number in 0..<500 {
                try transaction.put(id("doc \(number)"), body: bytes(#"{"n":\#(number)}"#), parent: nil)
            }
        }
        database.close()
        var file = try #require(contents(folder.file()))
        for page in 2..<(file.count / 4096) { for index in 0..<64 { file[page * 4096 + index] = 0xA5 } }
        write(file, to: folder.file())
        do {
            let damaged = try fileDatabase(folder, create: false)
            defer { damaged.close() }
            #expect(code { _ = try damaged.read { try $0.allDocuments(limit: 1000, bodies: true) } } == .damaged)
        } catch ErrorCode.damaged {
            // Seen at once is as well.
        }
    }

    @Test(
        "a folder that is not there or cannot be written is told as such",
        arguments: ["/sys/x.kith", "/nonexistent-kith/x.kith"])
    func notWritable(path: String) throws {
        do {
            _ = try Database(path: path, name: DatabaseName("test"), create: true)
            Issue.record("opened")
        } catch {
            #expect(error.code == .homeNotWritable)
            #expect(error.remedy != nil)
        }
    }

    @Test("a read-only folder is told as such, and nothing is changed", .enabled(if: geteuid() != 0))
    func readOnlyFolder() throws {
        let folder = TemporaryFolder()
        try fileDatabase(folder).close()
        chmod(folder.path, 0o500)
        defer { chmod(folder.path, 0o700) }
        #expect(code { _ = try fileDatabase(folder) } == .homeNotWritable)
        #expect(
            code { _ = try Database(path: folder.file("new"), name: DatabaseName("new"), create: true) }
                == .homeNotWritable)
    }

    @Test("a full disk: the write fails whole, reads go on, and after space is freed so do writes")
    func diskFull() async throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder)
        defer { database.close() }
        let body = bytes(#"{"x":"\#(String(repeating: "x", count: 3000))"}"#)
        let pages = try database.limitPages(0)
        try database.limitPages(pages + 60)
        let acknowledged = Shared<[Int]>([])
        let full = Shared(0)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                group.addTask {
                    do {
                        try await database.write { _ = try $0.put(id("doc \(number)"), body: body, parent: nil) }
                        acknowledged.withLock { $0.append(number) }
                    } catch {
                        #expect((error as? KithError)?.code == .diskFull)
                        full.withLock { $0 += 1 }
                    }
                }
            }
        }
        #expect(full.withLock { $0 } > 0)
        let names = acknowledged.withLock { $0 }
        #expect(try database.read { try $0.documentCount } == names.count)
        for name in names { #expect(try database.read { try $0.document(id("doc \(name)")) }?.body == body) }
        // A body that does not pass the error on is undone nevertheless.
        #expect(
            code {
                try database.writeBlocking { transaction in
                    for number in 0..<100 {
                        _ = try? transaction.put(id("swallowed \(number)"), body: body, parent: nil)
                    }
                }
            } == .diskFull)
        #expect(try database.read { try $0.document(id("swallowed 0")) } == nil)
        #expect(try database.findFaults().isEmpty)
        try database.limitPages(0)
        try await database.write { _ = try $0.put(id("after"), body: body, parent: nil) }
        #expect(try database.read { try $0.documentCount } == names.count + 1)
        #expect(try database.findFaults().isEmpty)
    }
}
