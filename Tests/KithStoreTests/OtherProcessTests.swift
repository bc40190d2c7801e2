import KithDocuments
import KithStore
import Testing

/// Another process writes to the file that this one has open.
@Suite("Store: commits of other processes", .timeLimit(.minutes(60)))
struct OtherProcessTests {
    private let folder = TemporaryFolder()
    private let other: ProbeProcess

    /// The other process makes the file.
    init() throws {
        other = try ProbeProcess(["obey", folder.file()])
        #expect(other.readLine() == "ready")
    }

    /// What the other process has written when this returns.
    private func tell(_ command: String) -> UInt64 {
        other.send(command + "\n")
        return other.readLine().flatMap { UInt64($0) } ?? 0
    }

    private func open(_ watcher: BellWatcher = .shared) throws -> Database {
        var options = DatabaseOptions()
        options.bellWatcher = watcher
        return try fileDatabase(folder, create: false, options: options)
    }

    /// What an observer of a database is told.
    private func told(_ database: Database) -> (AsyncStream<UInt64>, ObservationToken) {
        let (stream, continuation) = AsyncStream.makeStream(of: UInt64.self)
        return (stream, database.observe { continuation.yield($0) })
    }

    @Test("an observer is told of puts and deletions, also where this process has never written")
    func observer() async throws {
        let database = try open()
        defer { database.close() }
        let (stream, token) = told(database)
        var sequences = stream.makeAsyncIterator()
        #expect(tell("put a") == 1)
        #expect(await sequences.next() == 1)
        #expect(try database.read { try $0.document(id("a")) } != nil)
        #expect(tell("delete a") == 2)
        #expect(await sequences.next() == 2)
        #expect(try database.read { try $0.documentCount } == 0)
        token.cancel()
    }

    @Test("each commit is told once, whoever made it")
    func once() async throws {
        let database = try open()
        defer { database.close() }
        let (stream, token) = told(database)
        var last: UInt64 = 0
        for round in 0..<20 {
            try await database.write { _ = try $0.put(id("own \(round)"), body: bytes("{}"), parent: nil) }
            last = tell("put a")
        }
        var seen: [UInt64] = []
        for await sequence in stream {
            seen.append(sequence)
            if sequence == last { break }
        }
        #expect(last == 40)
        for (before, after) in zip(seen, seen.dropFirst()) { #expect(before < after) }
        // All own ones are told; those of the other process may be told together with what came next.
        #expect(seen.count > 20)
        token.cancel()
    }

    @Test("what was there before the observation began is not told")
    func beginning() async throws {
        let before = tell("put a")
        let database = try open()
        defer { database.close() }
        let (stream, token) = told(database)
        var sequences = stream.makeAsyncIterator()
        let after = tell("put b")
        #expect(before == 1)
        #expect(await sequences.next() == after)
        token.cancel()
    }

    @Test("a database that was closed and opened again hears on")
    func reopened() async throws {
        for round in 0..<3 {
            let database = try open()
            async let change = database.waitForChange(after: UInt64(round))
            #expect(tell("put a") == UInt64(round + 1))
            #expect(try await change == UInt64(round + 1))
            database.close()
        }
    }

    @Test("each database of the process hears of its own file")
    func several() async throws {
        let second = TemporaryFolder()
        let secondOther = try ProbeProcess(["obey", second.file()])
        #expect(secondOther.readLine() == "ready")
        let databases = [try open(), try fileDatabase(second, create: false)]
        defer { for database in databases { database.close() } }
        let heard = databases.map { told($0) }
        var iterators = heard.map { $0.0.makeAsyncIterator() }
        secondOther.send("put a\nput b\n")
        #expect(secondOther.readLine() == "1")
        #expect(secondOther.readLine() == "2")
        while let sequence = await iterators[1].next(), sequence < 2 {}
        #expect(tell("put a") == 1)
        #expect(await iterators[0].next() == 1)
    }

    @Test("where files cannot be watched, it is looked now and then")
    func withoutInotify() async throws {
        let watcher = BellWatcher(usesInotify: false)
        let database = try open(watcher)
        defer { database.close() }
        let (stream, token) = told(database)
        var sequences = stream.makeAsyncIterator()
        #expect(tell("put a") == 1)
        #expect(await sequences.next() == 1)
        token.cancel()
    }

    @Test("with the last observation the watching ends, and begins again with the next")
    func endsWatching() async throws {
        for watcher in [BellWatcher(), BellWatcher(usesInotify: false)] {
            let database = try open(watcher)
            #expect(!watcher.isRunning)
            for _ in 0..<3 {
                let last = try database.read { try $0.lastSequence }
                let (first, second) = (database.observe { _ in }, database.observe { _ in })
                #expect(watcher.isRunning)
                async let change = database.waitForChange(after: last)
                #expect(tell("put a") == last + 1)
                #expect(try await change == last + 1)
                first.cancel()
                second.cancel()
                while watcher.isRunning { await Task.yield() }
            }
            let token = database.observe { _ in }
            database.close()
            while watcher.isRunning { await Task.yield() }
            token.cancel()
        }
    }
}
