import KithDocuments
import KithStore
import Testing

@Suite("Store: resolving conflicts by itself")
struct ConflictResolverTests {
    private func database(_ policy: MergePolicy, _ folder: TemporaryFolder) throws -> Database {
        let database = try fileDatabase(folder)
        try database.writeBlocking {
            try $0.setSettings(DatabaseSettings(keepsOldBodies: true, mergePolicy: policy))
        }
        return database
    }

    private func conflict(_ name: String) throws -> [IncomingRevision] {
        try [
            incoming(name, ["1-a"], body: #"{"x":1,"y":1}"#), incoming(name, ["2-b", "1-a"], body: #"{"x":2,"y":1}"#),
            incoming(name, ["2-c", "1-a"], body: #"{"x":1,"y":2}"#),
        ]
    }

    private func insert(_ database: Database, _ revisions: [IncomingRevision], _ collection: CollectionName = .default)
        async throws
    {
        try await database.write { transaction in
            for revision in revisions { try transaction.collection(collection).insert(revision) }
        }
    }

    /// Waits until so many documents are in conflict.
    private func wait(_ database: Database, _ collection: CollectionName = .default, conflicts: Int) async throws {
        while true {
            let (count, last) = try database.read {
                let view = try $0.collection(collection)
                return (try view.conflictCount, try view.lastSequence)
            }
            if count == conflicts { return }
            _ = try await database.waitForChange(after: last, in: collection)
        }
    }

    /// Runs a resolver while something is done.
    private func withResolver(
        _ resolver: ConflictResolver, _ body: () async throws -> Void
    ) async throws {
        let work = Task { await resolver.run() }
        do {
            try await body()
        } catch {
            work.cancel()
            await work.value
            throw error
        }
        work.cancel()
        await work.value
    }

    @Test("conflicts that are there at the start are merged, and those that come, in every collection")
    func merges() async throws {
        let folder = TemporaryFolder()
        let database = try database(.threeWay, folder)
        let notes = try CollectionName("notes")
        try await database.write { try $0.createCollection(notes) }
        try await insert(database, conflict("before"))
        try await withResolver(ConflictResolver(database: database)) {
            try await wait(database, conflicts: 0)
            try await insert(database, conflict("after"))
            try await insert(database, conflict("after"), notes)
            try await wait(database, notes, conflicts: 0)
            try await wait(database, conflicts: 0)
            let later = try CollectionName("later")
            try await database.write { try $0.createCollection(later) }
            try await insert(database, conflict("x"), later)
            try await wait(database, later, conflicts: 0)
        }
        for name in ["before", "after"] {
            let body = try #require(try database.read { try $0.document(id(name)) }).body
            #expect(text(body) == #"{"x":2,"y":2}"#)
        }
        #expect(try database.findFaults() == [])
    }

    @Test("more conflicts than are looked at together are all merged")
    func many() async throws {
        let folder = TemporaryFolder(inMemory: true)
        let database = try database(.threeWay, folder)
        for part in 0..<4 {
            try await insert(database, (0..<400).flatMap { try conflict("\(part)-\($0)") })
        }
        let resolver = ConflictResolver(database: database)
        try await withResolver(resolver) { try await wait(database, conflicts: 0) }
    }

    @Test("nothing happens while the database is not set to it, and it begins when it is")
    func settings() async throws {
        let folder = TemporaryFolder()
        let database = try database(.byHand, folder)
        try await insert(database, conflict("a"))
        let resolver = ConflictResolver(database: database)
        try await withResolver(resolver) {
            try await insert(database, conflict("b"))
            #expect(try database.read { try $0.conflictCount } == 2)
            try await database.write { try $0.setSettings(DatabaseSettings(mergePolicy: .threeWay)) }
            resolver.settingsChanged()
            try await wait(database, conflicts: 0)
        }
        #expect(database.observerCount == 0)
    }

    @Test("a document whose rows are damaged is listed, and those that are merged together with it are merged")
    func damagedRows() async throws {
        let folder = TemporaryFolder()
        let database = try database(.byHand, folder)
        for name in ["a", "b", "c"] { try await insert(database, conflict(name)) }
        let twin = try memoryDatabase()
        try twin.writeBlocking { transaction in
            try transaction.setSettings(DatabaseSettings(mergePolicy: .threeWay))
            for revision in try conflict("b") { try transaction.insert(revision) }
        }
        try twin.mergeConflicts()
        let tombstone = try #require(try twin.read { try $0.document(id("b"))?.leaves.last { $0.isDeleted } })
        // In the way of the tombstone that the merge writes, so that it fails half-way.
        try RawFile(folder.file()).execute(
            "INSERT INTO leaf_1 (id, revision, body) VALUES ('b', '\(tombstone.revision)', '{}')")
        try await database.write { try $0.setSettings(DatabaseSettings(mergePolicy: .threeWay)) }
        let (changes, changed) = AsyncStream.makeStream(of: Void.self)
        let resolver = ConflictResolver(database: database, onChange: { changed.yield() })
        try await withResolver(resolver) {
            try await wait(database, conflicts: 1)
            for await _ in changes where await !resolver.failures.isEmpty { break }
            #expect(await resolver.failures.map(\.id) == [try id("b")])
        }
        for name in ["a", "c"] {
            #expect(text(try #require(try database.read { try $0.document(id(name)) }).body) == #"{"x":2,"y":2}"#)
        }
        #expect(try database.read { try $0.conflict(id("b")) }?.versions.count == 2)
    }

    @Test("what cannot be merged is listed with why, stops no other, and is listed no more when somebody resolved it")
    func failures() async throws {
        let folder = TemporaryFolder()
        let database = try database(.threeWay, folder)
        try await insert(database, [incoming("a", ["5-b", "4-b"]), incoming("a", ["5-c", "4-c"])])
        let (changes, change) = AsyncStream<Void>.makeStream()
        let resolver = ConflictResolver(database: database) { change.yield() }
        try await withResolver(resolver) {
            try await insert(database, conflict("b"))
            try await wait(database, conflicts: 1)
            for await _ in changes where await !resolver.failures.isEmpty { break }
            let failure = try #require(await resolver.failures.first)
            #expect(failure.id.text == "a")
            #expect(failure.error.code == .cannotMerge)
            #expect(!failure.isRetried)
            try await database.write {
                _ = try $0.resolve(id("a"), winner: revision("5-c"), losers: [revision("5-b")])
            }
            for await _ in changes where await resolver.failures.isEmpty { break }
        }
    }

    @Test("an app gets the versions and their common ancestor; what it says is written")
    func custom() async throws {
        let folder = TemporaryFolder()
        let database = try database(.byHand, folder)
        let seen = Shared<[DocumentConflict]>([])
        let resolver = ConflictResolver(database: database)
        await resolver.setResolver { conflict in
            seen.withLock { $0.append(conflict) }
            return .merged(body: bytes(#"{"by":"app"}"#))
        }
        try await insert(database, conflict("a"))
        try await withResolver(resolver) { try await wait(database, conflicts: 0) }
        let conflict = try #require(seen.withLock { $0 }.first)
        #expect(conflict.versions.map { text($0.body) } == [#"{"x":1,"y":2}"#, #"{"x":2,"y":1}"#])
        #expect(conflict.commonAncestor.map { text($0.body) } == #"{"x":1,"y":1}"#)
        #expect(try database.read { try $0.document(id("a")).map { text($0.body) } } == #"{"by":"app"}"#)
    }

    @Test("an answer that comes too late is dropped, and the app is asked again about what is there now")
    func overtaken() async throws {
        let folder = TemporaryFolder()
        let database = try database(.byHand, folder)
        let (asked, ask) = AsyncStream<Int>.makeStream()
        let isChanged = Gate()
        let resolver = ConflictResolver(database: database)
        await resolver.setResolver { conflict in
            ask.yield(conflict.versions.count)
            if conflict.versions.count == 2 { await isChanged.waitInTask() }
            return .merged(body: bytes(#"{"versions":\#(conflict.versions.count)}"#))
        }
        try await insert(database, conflict("a"))
        try await withResolver(resolver) {
            var questions = asked.makeAsyncIterator()
            #expect(await questions.next() == 2)
            try await insert(database, [incoming("a", ["2-d", "1-a"])])
            isChanged.open()
            #expect(await questions.next() == 3)
            try await wait(database, conflicts: 0)
        }
        #expect(try database.read { try $0.document(id("a")).map { text($0.body) } } == #"{"versions":3}"#)
    }

    @Test("an app's error is noted without what it says, stops no other, and the app is asked again when it changes")
    func appErrors() async throws {
        struct Secret: Error { let text = "secret" }
        let folder = TemporaryFolder()
        let database = try database(.byHand, folder)
        let (changes, change) = AsyncStream<Void>.makeStream()
        let resolver = ConflictResolver(database: database) { change.yield() }
        let mends = Shared(false)
        await resolver.setResolver { conflict in
            if conflict.id.text == "bad", !mends.withLock({ $0 }) { throw Secret() }
            if conflict.id.text == "wrong", !mends.withLock({ $0 }) { return .keep(try revision("9-x")) }
            return .keep(conflict.versions[1].revision)
        }
        for name in ["bad", "wrong", "good"] { try await insert(database, conflict(name)) }
        try await withResolver(resolver) {
            try await wait(database, conflicts: 2)
            for await _ in changes where await resolver.failures.count == 2 { break }
            for failure in await resolver.failures {
                #expect(!failure.error.description.contains("secret"))
                #expect(failure.isRetried == (failure.id.text == "bad"))
            }
            mends.withLock { $0 = true }
            for name in ["bad", "wrong"] { try await insert(database, [incoming(name, ["2-d", "1-a"])]) }
            try await wait(database, conflicts: 0)
            for await _ in changes where await resolver.failures.isEmpty { break }
        }
        let good = try #require(try database.read { try $0.document(id("good")) })
        #expect(text(good.body) == #"{"x":2,"y":1}"#)
    }

    @Test("it ends when it is asked to, also while an app thinks, and with the database")
    func ends() async throws {
        let folder = TemporaryFolder()
        let database = try database(.byHand, folder)
        try await insert(database, conflict("a"))
        let (asked, ask) = AsyncStream<Void>.makeStream()
        let (nothing, end) = AsyncStream<Void>.makeStream()
        let resolver = ConflictResolver(database: database)
        await resolver.setResolver { _ in
            ask.yield()
            // Nothing ever comes, so only being cancelled ends it.
            for await _ in nothing {}
            try Task.checkCancellation()
            return .delete
        }
        try await withResolver(resolver) { for await _ in asked { break } }
        end.finish()
        #expect(try database.read { try $0.conflictCount } == 1)

        // One that does not listen, and answers when nobody asks any more.
        let deaf = ConflictResolver(database: database)
        let (began, begin) = AsyncStream<Void>.makeStream()
        let (answers, answer) = AsyncStream<Void>.makeStream()
        let isEnded = Gate()
        await deaf.setResolver { _ in
            begin.yield()
            await Task.detached { await isEnded.waitInTask() }.value
            answer.yield()
            return .delete
        }
        try await withResolver(deaf) { for await _ in began { break } }
        isEnded.open()
        for await _ in answers { break }
        #expect(try database.read { try $0.conflictCount } == 1)

        let other = ConflictResolver(database: database)
        let (looked, look) = AsyncStream<Void>.makeStream()
        await other.setResolver {
            look.yield()
            return .keep($0.versions[0].revision)
        }
        let work = Task { await other.run() }
        for await _ in looked { break }
        try await wait(database, conflicts: 0)
        database.close()
        await work.value
    }
}
