import CSQLite
import Glibc
import KithDocuments
import KithStore
import Testing

@Suite("Store: backup, restore, copy")
struct BackupTests {
    private let name: DatabaseName
    private let stock: CollectionName

    init() throws {
        name = try DatabaseName("restored")
        stock = try CollectionName("stock")
    }

    /// A database with something of everything.
    private func filledDatabase(_ folder: TemporaryFolder) throws -> Database {
        let database = try fileDatabase(folder)
        try fill(database)
        return database
    }

    private func fill(_ database: Database, _ count: Int = 300) throws {
        try database.writeBlocking { [stock] transaction in
            try transaction.createCollection(stock)
            for number in 0..<count {
                let text = String(repeating: "x", count: number * 10)
                try transaction.put(id("doc \(number)"), body: bytes(#"{"x":"\#(text)"}"#), parent: nil)
                try transaction.insert(incoming("doc \(number)", ["1-\(number)a"]))
                try transaction.collection(stock).put(id("item \(number)"), body: bytes("{}"), parent: nil)
            }
            try transaction.setLocalDocument("checkpoint", bytes("1"))
            try transaction.collection(stock).setLocalDocument("checkpoint", bytes("1"))
        }
    }

    private func digests(_ database: Database) throws -> [DatabaseDigest] {
        try database.read { snapshot in
            try snapshot.collections().map { try snapshot.collection($0).digest() }
        }
    }

    /// The names in a folder, without those of the database that is open.
    private func files(_ folder: TemporaryFolder) -> [String] {
        guard let directory = opendir(folder.path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix("."), !name.hasPrefix("test.kith") { names.append(name) }
        }
        return names.sorted()
    }

    @Test("a backup is one file with everything in it, and a database that is restored from it goes on as the lost one")
    func roundTrip() async throws {
        let folder = TemporaryFolder()
        let database = try filledDatabase(folder)
        defer { database.close() }
        let steps = Shared<[MaintenanceProgress]>([])
        let size = try await database.backup(to: folder.file("backup")) { step in steps.withLock { $0.append(step) } }
        #expect(files(folder) == ["backup"])
        var information = stat()
        #expect(stat(folder.file("backup"), &information) == 0)
        #expect(information.st_mode & 0o777 == 0o600 && UInt64(information.st_size) == size)
        let seen = steps.withLock { $0 }
        #expect(!seen.isEmpty && seen.last?.completed == seen.last?.total && seen.allSatisfy { $0.phase == .copying })
        let before = try #require(contents(folder.file("backup")))

        // What the lost database gives after the backup is not given again.
        let lost = try database.writeBlocking { try $0.put(id("lost"), body: bytes("{}"), parent: nil).sequence }
        try await Database.restore(from: folder.file("backup"), to: folder.file("restored"), name: name)
        #expect(files(folder) == ["backup", "restored"])
        #expect(contents(folder.file("backup")) == before)
        let restored = try Database(path: folder.file("restored"), name: name, create: false)
        defer { restored.close() }
        #expect(try restored.findFaults() == [])
        #expect(restored.publicID == database.publicID)
        #expect(restored.privateID != database.privateID)
        let inBackup = try Database(path: folder.file("backup"), name: name, create: false)
        #expect(inBackup.publicID == database.publicID)
        #expect(inBackup.privateID != database.privateID && inBackup.privateID != restored.privateID)
        #expect(try digests(restored) == digests(inBackup))
        inBackup.close()
        try restored.read { [stock] snapshot in
            for view in [snapshot, try snapshot.collection(stock)] {
                #expect(try view.localDocument("checkpoint") == nil)
            }
        }
        let sequences = try restored.writeBlocking { [stock] transaction in
            [
                try transaction.put(id("new"), body: bytes("{}"), parent: nil).sequence,
                try transaction.collection(stock).put(id("new"), body: bytes("{}"), parent: nil).sequence,
            ]
        }
        #expect(sequences == [600 + 1 << 32 + 1, 300 + 1 << 32 + 1])
        #expect(sequences[0] > lost)
        try restored.read { (snapshot) throws in
            // Changes from before the backup are still found by the old sequences.
            #expect(try snapshot.changes(since: 0, limit: 5).count == 5)
            #expect(try snapshot.changes(since: lost, limit: 5).map(\.id.text) == ["new"])
        }
    }

    @Test("a prebuilt database becomes another database each time, with the same content")
    func copyPrebuilt() async throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder)
        try fill(database)
        let (publicID, privateID, digest) = (database.publicID, database.privateID, try digests(database))
        let half = Blob(digest: try AttachmentDigest(bytes: [UInt8](repeating: 1, count: 20)), length: 9)
        try database.leaveBeginningHere([1, 2], of: half)
        try await database.backup(to: folder.file("backup"))
        database.close()
        let backup = try Database(
            path: folder.file("backup"), name: name, create: false, options: DatabaseOptions(writer: .caller))
        try backup.doHousekeeping()
        #expect(try backup.blobTableCounts() == [0, 0])
        backup.close()
        var identifiers: Set<String> = [publicID, privateID]
        for number in 0..<2 {
            let path = folder.file("copy \(number)")
            try await Database.copyPrebuilt(from: folder.file(), to: path, name: name)
            let copy = try Database(path: path, name: name, create: false)
            defer { copy.close() }
            identifiers.formUnion([copy.publicID, copy.privateID])
            #expect(try digests(copy) == digest)
            #expect(try copy.blobTableCounts() == [0, 0])
            #expect(try copy.read { try $0.lastSequence } == 600)
            #expect(try copy.read { try $0.localDocument("checkpoint") } == nil)
            #expect(try copy.findFaults() == [])
        }
        #expect(identifiers.count == 6)
    }

    @Test("others write during a backup, which has the state of its beginning")
    func writesDuringBackup() async throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder)
        defer { database.close() }
        try fill(database, 2_000)
        let before = try digests(database)
        let number = Shared(0)
        try await database.backup(to: folder.file("backup")) { _ in
            // More than what the log takes before a checkpoint would want to change the file.
            let current = number.withLock {
                $0 += 1; return $0
            }
            for document in 0..<20 {
                let body = bytes(#"{"changed":"\#(String(repeating: "y", count: 20_000))"}"#)
                _ = try? database.writeBlocking {
                    let name = try id("doc \(document * 97 % 2_000)")
                    return try $0.put(name, body: body, parent: $0.document(name)?.revision)
                }
            }
            _ = try? database.writeBlocking { try $0.put(id("new \(current)"), body: bytes("{}"), parent: nil) }
        }
        let steps = number.withLock { $0 }
        #expect(steps > 5)
        #expect(try database.read { try $0.documentCount } == 2_000 + steps)
        let copy = try Database(path: folder.file("backup"), name: name, create: false)
        defer { copy.close() }
        #expect(try copy.findFaults() == [])
        #expect(try digests(copy) == before)
        #expect(try digests(database) != before)
    }

    @Test("a backup that is cancelled or meets a closed database leaves no file; a file that is there stays as it is")
    func backupFails() async throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder)
        try fill(database)
        let (begun, goOn) = (Gate(), Gate())
        let path = folder.file("backup")
        let task = Task {
            try await database.backup(to: path) { _ in
                begun.open()
                goOn.wait()
            }
        }
        await begun.waitInTask()
        #expect(files(folder) == ["backup.kith-draft"])
        // A second one to the same name does not disturb the first.
        do {
            try await database.backup(to: path)
            Issue.record("two backups wrote to one file")
        } catch {
            #expect((error as? KithError)?.code == .conflict)
        }
        task.cancel()
        goOn.open()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(files(folder) == [])
        write(bytes("mine"), to: path)
        await #expect(throws: KithError.self) { try await database.backup(to: path) }
        #expect(contents(path) == bytes("mine") && files(folder) == ["backup"])
        await #expect(throws: KithError.self) { try await database.backup(to: "/nonexistent-kith/backup") }
        database.close()
        await #expect(throws: KithError.self) { try await database.backup(to: folder.file("other")) }
        #expect(files(folder) == ["backup"])
    }

    @Test("what a dead attempt has left is cleaned up by the next")
    func deadDraft() async throws {
        let folder = TemporaryFolder()
        let database = try filledDatabase(folder)
        defer { database.close() }
        let begun = [
            // A backup writes its first page last.
            ("backup", [UInt8](repeating: 0, count: 4_096) + bytes("half of a draft")),
            ("restored", try #require(contents(folder.file()))),
        ]
        for (name, content) in begun {
            write(content, to: folder.file("\(name).kith-draft"))
            for suffix in ["-wal", "-journal"] {
                write(bytes("half of a log"), to: folder.file("\(name).kith-draft\(suffix)"))
            }
            chmod(folder.file("\(name).kith-draft"), 0o644)
        }
        try await database.backup(to: folder.file("backup"))
        try await Database.restore(from: folder.file("backup"), to: folder.file("restored"), name: name)
        #expect(files(folder) == ["backup", "restored"])
        for file in files(folder) {
            var information = stat()
            #expect(stat(folder.file(file), &information) == 0 && information.st_mode & 0o777 == 0o600)
            let copy = try Database(path: folder.file(file), name: name, create: false)
            #expect(try copy.findFaults() == [])
            copy.close()
        }
    }

    @Test("a file that has the name of a draft and is none stays as it is")
    func noDraft() async throws {
        let folder = TemporaryFolder()
        let database = try filledDatabase(folder)
        defer { database.close() }
        let draft = folder.file("backup.kith-draft")
        for content in [bytes("mine"), bytes(String(repeating: "a long text of mine. ", count: 500))] {
            write(content, to: draft)
            do {
                try await database.backup(to: folder.file("backup"))
                Issue.record("the file was taken for a draft")
            } catch {
                #expect((error as? KithError)?.code == .databaseExists)
            }
            #expect(contents(draft) == content && files(folder) == ["backup.kith-draft"])
        }
        unlink(draft)
        // A database that is in use, by this or another process.
        let own = try Database(path: draft, name: name, create: true)
        await #expect(throws: KithError.self) { try await database.backup(to: folder.file("backup")) }
        #expect(try own.findFaults() == [])
        own.close()
        let other = try ProbeProcess(["obey", draft])
        #expect(other.readLine() == "ready")
        await #expect(throws: KithError.self) { try await database.backup(to: folder.file("backup")) }
        other.send("put a\n")
        #expect(other.readLine() == "1")
    }

    @Test("a log that lies beside the name of a backup is not played into it")
    func logsBesideBackup() async throws {
        let folder = TemporaryFolder()
        let database = try filledDatabase(folder)
        defer { database.close() }
        for suffix in ["-wal", "-shm", "-journal"] {
            write(bytes("of another file"), to: folder.file("backup" + suffix))
        }
        try await database.backup(to: folder.file("backup"))
        #expect(files(folder) == ["backup"])
        try await Database.restore(from: folder.file("backup"), to: folder.file("restored"), name: name)
        let restored = try Database(path: folder.file("restored"), name: name, create: false)
        defer { restored.close() }
        #expect(try restored.findFaults() == [] && digests(restored) == digests(database))
    }

    @Test("a database that another one makes under the name during a restore keeps all that it has acknowledged")
    func targetAppears() async throws {
        let folder = TemporaryFolder()
        let database = try filledDatabase(folder)
        defer { database.close() }
        try await database.backup(to: folder.file("backup"))
        let path = folder.file("restored")
        let made = Shared<Database?>(nil)
        do {
            try await Database.restore(from: folder.file("backup"), to: path, name: name) { [name] _ in
                made.withLock { made in
                    guard made == nil else { return }
                    made = try? Database(path: path, name: name, create: true)
                    _ = try? made?.writeBlocking { try $0.put(id("acknowledged"), body: bytes("{}"), parent: nil) }
                }
            }
            Issue.record("the restore replaced a database")
        } catch {
            #expect((error as? KithError)?.code == .databaseExists)
        }
        // As a kill leaves it.
        copyAsCrashImage(path, to: folder.file("image"))
        made.withLock { $0 }?.close()
        let image = try Database(path: folder.file("image"), name: name, create: false)
        #expect(try image.read { try $0.document(id("acknowledged")) } != nil)
        image.close()
    }

    @Test("a restore waits while another one makes a database of the name, and looks again then")
    func creationLock() async throws {
        let folder = TemporaryFolder()
        let database = try filledDatabase(folder)
        defer { database.close() }
        try await database.backup(to: folder.file("backup"))
        let path = folder.file("restored")
        let lock = open(path + ".kith-creating", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        try #require(flock(lock, LOCK_EX) == 0)
        let isOver = Shared(false)
        let restore = Task { [name] in
            defer { isOver.withLock { $0 = true } }
            try await Database.restore(from: folder.file("backup"), to: path, name: name)
        }
        // The kernel says that somebody waits for the lock. If it ends instead, it has not asked for it.
        while try !isWaitedFor(lock), !isOver.withLock({ $0 }) { await Task.yield() }
        #expect(!isOver.withLock { $0 } && contents(path) == nil)
        write(bytes("a database"), to: path)
        write(bytes("its log"), to: path + "-wal")
        close(lock)
        await #expect(throws: KithError.self) { try await restore.value }
        #expect(contents(path) == bytes("a database") && contents(path + "-wal") == bytes("its log"))
        #expect(files(folder) == ["backup", "restored", "restored-wal"])
    }

    /// Whether somebody waits for a lock on the file: proc(5), `/proc/locks`.
    private func isWaitedFor(_ descriptor: Int32) throws -> Bool {
        var information = stat()
        try #require(fstat(descriptor, &information) == 0)
        let locks = try #require(contents("/proc/locks"))
        return String(decoding: locks, as: UTF8.self).split(separator: "\n").contains { line in
            line.contains("-> FLOCK") && line.contains(":\(information.st_ino) ")
        }
    }

    @Test("a file that another process has open, or that changes, is not copied; after a crash of that process it is")
    func sourceInUse() async throws {
        let folder = TemporaryFolder()
        let (source, path) = (folder.file("source"), folder.file("copy"))
        let other = try ProbeProcess(["obey", source])
        #expect(other.readLine() == "ready")
        other.send("put a\n")
        #expect(other.readLine() == "1")
        func copy(_ progress: @escaping @Sendable (MaintenanceProgress) -> Void = { _ in }) async -> ErrorCode? {
            do {
                try await Database.copyPrebuilt(from: source, to: path, name: name, progress: progress)
                return nil
            } catch {
                return (error as? KithError)?.code
            }
        }
        #expect(await copy() == .conflict)
        #expect(contents(path) == nil)
        // The locks of that process are still there, and it goes on.
        #expect(await copy() == .conflict)
        other.send("put b\n")
        #expect(other.readLine() == "2")
        other.kill()
        _ = other.wait()
        try #require(contents(source + "-wal")?.isEmpty == false)
        // Somebody opens, changes and closes it while it is copied.
        let changed = await copy { step in
            if step.phase == .copying { try? RawFile(source).execute("UPDATE meta SET revisions_limit = 77") }
        }
        #expect(changed == .conflict && contents(path) == nil)
        write(bytes("a transaction that was not ended"), to: source + "-journal")
        #expect(await copy() == .conflict)
        write([UInt8](repeating: 0, count: 512), to: source + "-journal")
        #expect(await copy() == nil)
        let new = try Database(path: path, name: name, create: false)
        defer { new.close() }
        #expect(try new.findFaults() == [])
        #expect(try new.read { try $0.documentCount } == 2)
    }

    @Test("what cannot be restored is refused by its reason, and leaves no file")
    func restoreRefuses() async throws {
        let folder = TemporaryFolder()
        let database = try filledDatabase(folder)
        defer { database.close() }
        try await database.backup(to: folder.file("backup"))
        let sound = try #require(contents(folder.file("backup")))
        var newer = sound
        newer[63] = 9
        var damaged = sound
        for page in 3..<8 { for index in 0..<64 { damaged[page * 4_096 + index] = 0xA5 } }
        write(newer, to: folder.file("newer"))
        write(damaged, to: folder.file("damaged"))
        write(Array(sound[..<(sound.count / 2)]), to: folder.file("cut"))
        write(bytes(String(repeating: "no database. ", count: 50)), to: folder.file("text"))
        write([], to: folder.file("empty"))
        try RawFile(folder.file("foreign")).execute("CREATE TABLE document_1 (x)")
        write(sound, to: folder.file("taken"))
        let before = files(folder)
        let cases: [(source: String, target: String, code: ErrorCode)] = [
            ("newer", "new", .newerFormat), ("damaged", "new", .damaged), ("cut", "new", .damaged),
            ("text", "new", .damaged), ("empty", "new", .damaged), ("foreign", "new", .damaged),
            ("absent", "new", .notFound), ("backup", "taken", .databaseExists), ("test.kith", "new", .conflict),
            ("backup", "no folder/new", .homeNotWritable),
        ]
        for (source, target, code) in cases {
            for isNew in [false, true] {
                do {
                    let (from, to) = (folder.file(source), folder.file(target))
                    if isNew {
                        try await Database.copyPrebuilt(from: from, to: to, name: name)
                    } else {
                        try await Database.restore(from: from, to: to, name: name)
                    }
                    Issue.record("\(source) was taken")
                } catch {
                    #expect((error as? KithError)?.code == code, "\(source): \(error)")
                }
                #expect(files(folder) == before)
            }
        }
        #expect(contents(folder.file("taken")) == sound)
    }

    @Test("a file that was not closed is copied with its log; one of format 1 is brought to this format")
    func otherSources() async throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder)
        try fill(database, 20)
        copyAsCrashImage(folder.file(), to: folder.file("image"))
        let digest = try digests(database)
        database.close()
        try #require(contents(folder.file("image-wal"))?.isEmpty == false)
        try await Database.copyPrebuilt(from: folder.file("image"), to: folder.file("copy"), name: name)
        #expect(files(folder) == ["copy", "image", "image-wal"])
        let copy = try Database(path: folder.file("copy"), name: name, create: false)
        #expect(try digests(copy) == digest)
        copy.close()
        try MigrationTests().makeFormat1(folder.file("old"))
        try await Database.restore(from: folder.file("old"), to: folder.file("new"), name: name)
        let new = try Database(path: folder.file("new"), name: name, create: false)
        defer { new.close() }
        #expect(try new.findFaults() == [])
        #expect(try new.read { try $0.lastSequence } == 9 + 1 << 32)
        #expect(try RawFile(folder.file("old")).number("PRAGMA user_version") == 1)
    }
}
