import KithDocuments
import KithStore
import Testing

@Suite("Store: waiting for changes", .timeLimit(.minutes(60)))
struct WaitingTests {
    private let folder = TemporaryFolder()

    private func put(_ database: Database, _ name: String) async throws {
        try await database.write { _ = try $0.put(id(name), body: bytes("{}"), parent: nil) }
    }

    /// Lets a task wait, and goes on when it does.
    private func waiting(
        _ database: Database, after sequence: UInt64, in collection: CollectionName = .default
    ) async -> Task<UInt64, any Error> {
        let task = Task { try await database.waitForChange(after: sequence, in: collection) }
        while database.observerCount == 0 { await Task.yield() }
        return task
    }

    @Test("it returns at once what is there, and else with the next commit that changes the collection")
    func waits() async throws {
        let database = try fileDatabase(folder)
        defer { database.close() }
        let orders = try CollectionName("orders")
        try await database.write { try $0.createCollection(orders) }
        try await put(database, "a")
        #expect(try await database.waitForChange(after: 0) == 1)
        let task = await waiting(database, after: 1)
        // Neither of these changes it.
        try await database.write { try $0.setLocalDocument("x", [1]) }
        try await database.write { _ = try $0.collection(orders).put(id("b"), body: bytes("{}"), parent: nil) }
        #expect(database.observerCount == 1)
        try await put(database, "b")
        #expect(try await task.value == 2)
        #expect(try await database.waitForChange(after: 0, in: orders) == 1)
        while database.observerCount > 0 { await Task.yield() }
    }

    @Test("a sequence further on is waited for")
    func waitsBeyond() async throws {
        let database = try fileDatabase(folder)
        defer { database.close() }
        let task = await waiting(database, after: 2)
        for name in ["a", "b", "c"] { try await put(database, name) }
        #expect(try await task.value == 3)
    }

    @Test("a task that is cancelled waits no longer and leaves nothing behind")
    func cancelled() async throws {
        let database = try fileDatabase(folder)
        defer { database.close() }
        let task = await waiting(database, after: 0)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(database.observerCount == 0)
        let late = Task { try await database.waitForChange(after: 0) }
        late.cancel()
        await #expect(throws: CancellationError.self) { try await late.value }
        #expect(database.observerCount == 0)
    }

    @Test("closing ends it as closed, and there is no waiting afterwards")
    func closed() async throws {
        let database = try fileDatabase(folder)
        let task = await waiting(database, after: 0)
        database.close()
        for attempt in [task, Task { try await database.waitForChange(after: 0) }] {
            let error = await #expect(throws: KithError.self) { try await attempt.value }
            #expect(error?.code == .closed)
        }
        #expect(database.observerCount == 0)
    }

    @Test("a collection that is not there is an error")
    func noCollection() async throws {
        let database = try memoryDatabase()
        let error = await #expect(throws: KithError.self) {
            try await database.waitForChange(after: 0, in: CollectionName("none"))
        }
        #expect(error?.code == .notFound)
        #expect(database.observerCount == 0)
    }

    @Test("in memory, and on the caller's thread")
    func inMemory() async throws {
        let database = try memoryDatabase()
        let task = await waiting(database, after: 0)
        try database.writeBlocking { _ = try $0.put(id("a"), body: bytes("{}"), parent: nil) }
        #expect(try await task.value == 1)
    }

    @Test("a feed gives what is there and then what comes, each change once, and ends at its limit")
    func feed() async throws {
        let database = try fileDatabase(folder)
        defer { database.close() }
        try await database.write { transaction in
            for number in 0..<1_000 { try transaction.put(id("\(number)"), body: bytes("{}"), parent: nil) }
        }
        var seen: [UInt64] = []
        var batches = 0
        for try await batch in database.changes(ChangesQuery(since: 10, limit: 1_040)) {
            batches += 1
            seen += batch.map(\.sequence)
            // More comes only while it is followed.
            if let last = seen.last, last >= 1_000, last < 1_050 { try await put(database, "late \(last)") }
        }
        #expect(seen == Array(11...1_050))
        #expect(batches > 50)
        #expect(database.observerCount == 0)
    }

    @Test("a feed of named documents passes over the others")
    func filteredFeed() async throws {
        let database = try fileDatabase(folder)
        defer { database.close() }
        let query = ChangesQuery(limit: 2, includesBodies: true, documentIDs: [try id("a"), try id("b")])
        let task = Task {
            var seen: [String] = []
            for try await batch in database.changes(query) { seen += batch.map { "\($0.id) \(text($0.bodies[0]))" } }
            return seen
        }
        for name in ["x", "a", "y", "b"] { try await put(database, name) }
        #expect(try await task.value == ["a {}", "b {}"])
    }

    @Test("a feed ends with the database, and with its task")
    func feedEnds() async throws {
        let database = try fileDatabase(folder)
        func follow() async -> Task<Void, any Error> {
            let task = Task { for try await _ in database.changes() {} }
            // Its own observation and that of its wait.
            while database.observerCount < 2 { await Task.yield() }
            return task
        }
        let first = await follow()
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        while database.observerCount > 0 { await Task.yield() }
        let second = await follow()
        database.close()
        let error = await #expect(throws: KithError.self) { try await second.value }
        #expect(error?.code == .closed)
    }
}
