import KithDocuments
import KithStore
import Testing

@Suite("Store: purging, expiry, and bodies of old revisions")
struct PurgeTests {
    /// A document with three leaves: live `3-bb` (the winner), live `2-cc`, and the tombstone `2-dd`.
    private func contested() throws -> Database {
        let database = try memoryDatabase()
        _ = try database.writeBlocking {
            try $0.insert(incoming("a", ["3-bb", "2-aa", "1-aa"]))
            try $0.insert(incoming("a", ["2-cc", "1-aa"]))
            try $0.insert(incoming("a", ["2-dd", "1-aa"], deleted: true))
            try $0.put(id("other"), body: bytes("{}"), parent: nil)
        }
        return database
    }

    @Test("a purged document is gone with all its branches, and its sequence is not given again")
    func whole() throws {
        let database = try contested()
        let told = Shared<[UInt64]>([])
        let observation = database.observe { sequence in told.withLock { $0.append(sequence) } }
        #expect(try database.writeBlocking { try $0.purge(id("a")) })
        #expect(try !database.writeBlocking { try $0.purge(id("a")) })
        try database.read { (snapshot) throws in
            #expect(try snapshot.document(id("a")) == nil)
            #expect(try snapshot.documentCount == 1)
            #expect(try snapshot.conflictCount == 0)
            #expect(try snapshot.lastSequence == 4)
        }
        #expect(told.withLock { $0 } == [4])
        #expect(try database.writeBlocking { try $0.put(id("new"), body: bytes("{}"), parent: nil).sequence } == 5)
        #expect(try database.findFaults() == [])
        observation.cancel()
    }

    @Test("purging leaves forgets them and the ancestors that only they have; what is named wrongly stays")
    func leaves() throws {
        let database = try contested()
        let purged = try database.writeBlocking {
            try $0.purge(id("a"), revisions: [revision("3-bb"), revision("1-aa"), revision("9-ee")])
        }
        #expect(try purged == [revision("3-bb")])
        try database.read { (snapshot) throws in
            let document = try #require(try snapshot.document(id("a")))
            #expect(try document.leaves.map(\.revision) == [revision("2-cc"), revision("2-dd")])
            #expect(text(document.body) == #"{"from":"2-cc"}"#)
            #expect(try snapshot.history(id("a"), revision("2-aa")) == nil)
            #expect(try snapshot.history(id("a"), revision("2-cc")) == [revision("1-aa")])
            #expect(document.sequence == 5)
            #expect(try snapshot.conflictCount == 0)
        }
        #expect(try database.findFaults() == [])
        // What was purged can come again.
        let outcome = try database.writeBlocking { try $0.insert(incoming("a", ["3-bb", "2-aa", "1-aa"])) }
        #expect(outcome == .inserted(sequence: 6))
        let all = try database.writeBlocking {
            try $0.purge(id("a"), revisions: [revision("3-bb"), revision("2-cc"), revision("2-dd")])
        }
        #expect(all.count == 3)
        #expect(try database.read { try $0.document(id("a")) } == nil)
        #expect(try database.findFaults() == [])
    }

    @Test("random purges leave a sound tree in every order", arguments: 1...40 as ClosedRange<UInt64>)
    func random(seed: UInt64) throws {
        var generator = SeededGenerator(state: seed)
        let database = try memoryDatabase()
        try database.writeBlocking { try $0.setSettings(DatabaseSettings(keepsOldBodies: seed % 2 == 0)) }
        for _ in 0..<30 {
            let digest = String(UInt8.random(in: 16...40, using: &generator), radix: 16)
            let generation = Int.random(in: 1...5, using: &generator)
            let history = (1..<generation).reversed().map { "\($0)-\(Bool.random(using: &generator) ? digest : "aa")" }
            let isDeleted = Int.random(in: 0..<4, using: &generator) == 0
            let arriving = try incoming("a", ["\(generation)-\(digest)"] + history, deleted: isDeleted)
            _ = try database.writeBlocking { try $0.insert(arriving) }
            let leaves = try database.read { try $0.document(id("a"))?.leaves ?? [] }
            if let leaf = leaves.randomElement(using: &generator), Bool.random(using: &generator) {
                let purged = try database.writeBlocking { try $0.purge(id("a"), revisions: [leaf.revision]) }
                #expect(purged == [leaf.revision])
            }
            #expect(try database.findFaults() == [], "seed \(seed)")
        }
    }

    // MARK: Expiry

    /// A clock that a test sets.
    private func at(_ clock: Shared<Int64>) -> @Sendable () -> Int64 {
        { clock.withLock { $0 } }
    }

    @Test("a document goes away at its time, and others stay; changing it keeps its time")
    func expires() throws {
        let clock = Shared<Int64>(1_000)
        let database = try Database(
            path: ":memory:", name: DatabaseName("memory"), create: true,
            options: DatabaseOptions(writer: .caller, clock: at(clock)))
        _ = try database.writeBlocking {
            let first = try $0.put(id("short"), body: bytes("{}"), parent: nil)
            try $0.put(id("long"), body: bytes("{}"), parent: nil)
            try $0.put(id("kept"), body: bytes("{}"), parent: nil)
            try $0.setExpiry(id("short"), at: 2_000)
            try $0.setExpiry(id("long"), at: 9_000)
            try $0.setExpiry(id("kept"), at: 2_000)
            try $0.setExpiry(id("kept"), at: nil)
            try $0.put(id("short"), body: bytes(#"{"n":2}"#), parent: first.revision)
        }
        #expect(code { try database.writeBlocking { try $0.setExpiry(id("nowhere"), at: 5) } } == .notFound)
        try database.doHousekeeping()
        #expect(try database.read { try $0.documentCount } == 3)
        #expect(try database.read { try $0.expiry(id("short")) } == 2_000)
        #expect(try database.read { try $0.nextExpiry() } == 2_000)
        clock.withLock { $0 = 2_000 }
        try database.doHousekeeping()
        try database.read { (snapshot) throws in
            #expect(try snapshot.document(id("short")) == nil)
            #expect(try snapshot.documentCount == 2)
            #expect(try snapshot.deletedCount == 0)
            #expect(try snapshot.nextExpiry() == 9_000)
        }
        #expect(try database.findFaults() == [])
    }

    @Test("thousands that are due at once all go, in every collection")
    func manyExpire() throws {
        let clock = Shared<Int64>(0)
        let database = try Database(
            path: ":memory:", name: DatabaseName("memory"), create: true,
            options: DatabaseOptions(writer: .caller, clock: at(clock)))
        let orders = try CollectionName("orders")
        try database.writeBlocking { transaction in
            try transaction.createCollection(orders)
            for view in [transaction, try transaction.collection(orders)] {
                for number in 0..<1_200 {
                    try view.put(id("d\(number)"), body: bytes("{}"), parent: nil)
                    try view.setExpiry(id("d\(number)"), at: Int64(number))
                }
            }
        }
        clock.withLock { $0 = 1_198 }
        try database.doHousekeeping()
        #expect(try database.read { try $0.documentCount } == 1)
        #expect(try database.read { try $0.collection(orders).documentCount } == 1)
    }

    @Test("a document whose time came while nobody had the file open is gone soon after it is opened")
    func expiresWhileClosed() throws {
        let folder = TemporaryFolder()
        let clock = Shared<Int64>(0)
        let options = DatabaseOptions(clock: at(clock))
        let database = try fileDatabase(folder, options: options)
        _ = try database.writeBlocking {
            try $0.put(id("a"), body: bytes("{}"), parent: nil)
            try $0.setExpiry(id("a"), at: 500)
        }
        database.close()
        clock.withLock { $0 = 1_000 }
        let again = try fileDatabase(folder, create: false, options: options)
        // Opening has queued the purge, so it is done before any later write.
        try again.writeBlocking { try $0.setLocalDocument("after", bytes("1")) }
        #expect(try again.read { try $0.document(id("a")) } == nil)
    }

    @Test("a document goes away by itself while the database is open")
    func expiresByItself() throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder)
        let gone = Promise<UInt64>()
        let now = DatabaseOptions.systemClock()
        _ = try database.writeBlocking {
            try $0.put(id("a"), body: bytes("{}"), parent: nil)
        }
        // Behind the observers of that commit.
        try database.writeBlocking { _ in }
        let observation = database.observe { gone.set($0) }
        try database.writeBlocking { try $0.setExpiry(id("a"), at: now + 50) }
        #expect(gone.wait() != nil)
        #expect(try database.read { try $0.document(id("a")) } == nil)
        observation.cancel()
    }

    // MARK: Old bodies

    @Test("bodies of superseded revisions are kept where the database is set to, and only there")
    func oldBodies() throws {
        let database = try memoryDatabase()
        let first = try database.writeBlocking { try $0.put(id("a"), body: bytes(#"{"n":1}"#), parent: nil).revision }
        try database.writeBlocking { try $0.setSettings(DatabaseSettings(revisionsLimit: 3, keepsOldBodies: true)) }
        var revisions = [first]
        for number in 2...6 {
            let parent = revisions[revisions.count - 1]
            revisions.append(
                try database.writeBlocking {
                    try $0.put(id("a"), body: bytes("{\"n\":\(number)}"), parent: parent).revision
                })
        }
        try database.read { [revisions] (snapshot) throws in
            for (index, revision) in revisions.enumerated() {
                let body = try snapshot.document(id("a"), revision: revision)?.body
                // Three revisions are kept in the tree; what was pruned takes its body along.
                #expect(body == (index >= 3 ? bytes("{\"n\":\(index + 1)}") : nil))
            }
        }
        #expect(try database.findFaults() == [])
        // From now on none is added, and what is there stays.
        try database.writeBlocking { try $0.setSettings(DatabaseSettings(keepsOldBodies: false)) }
        let last = revisions[5]
        _ = try database.writeBlocking { try $0.put(id("a"), body: bytes("{}"), parent: last) }
        try database.read { [revisions] (snapshot) throws in
            #expect(try snapshot.document(id("a"), revision: revisions[5]) == nil)
            #expect(try snapshot.document(id("a"), revision: revisions[4]) != nil)
        }
        #expect(try database.findFaults() == [])
        #expect(try database.writeBlocking { try $0.purge(id("a")) })
        #expect(try database.findFaults() == [])
    }

    @Test("with a limit of one revision the file stays sound, and an ancestor told of later takes its body along")
    func limitOfOne() throws {
        let database = try memoryDatabase()
        _ = try database.writeBlocking {
            try $0.setSettings(DatabaseSettings(revisionsLimit: 3, keepsOldBodies: true))
            try $0.insert(incoming("a", ["1-aa"]))
            try $0.insert(incoming("a", ["2-bb", "1-aa"]))
            try $0.setSettings(DatabaseSettings(revisionsLimit: 1))
            return try $0.insert(incoming("a", ["2-bb", "1-cc"]))
        }
        #expect(try database.findFaults() == [])
        for (revision, parent) in [("3-bb", "2-bb"), ("4-bb", "3-bb")] {
            _ = try database.writeBlocking { try $0.insert(incoming("a", [revision, parent])) }
            #expect(try database.findFaults() == [])
        }
    }

    @Test("what another process has set to expire goes away here too")
    func expirySetElsewhere() throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder)
        _ = try database.writeBlocking { try $0.put(id("a"), body: bytes("{}"), parent: nil) }
        let gone = Promise<UInt64>()
        try database.writeBlocking { try $0.setLocalDocument("barrier", bytes("1")) }
        let observation = database.observe { gone.set($0) }
        let other = try fileDatabase(folder, create: false)
        try other.writeBlocking { try $0.setExpiry(id("a"), at: DatabaseOptions.systemClock() + 300) }
        other.close()
        #expect(gone.wait() == 1)
        #expect(try database.read { try $0.document(id("a")) } == nil)
        observation.cancel()
    }

    @Test("housekeeping gets its turn though somebody writes without a pause")
    func steadyWrites() throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder)
        let gone = Gate()
        _ = try database.writeBlocking { transaction in
            try transaction.put(id("a"), body: bytes("{}"), parent: nil)
            try transaction.setExpiry(id("a"), at: 1)
        }
        @Sendable func writeOn() {
            database.submitWrite({ transaction in
                try transaction.setLocalDocument("steady", bytes("1"))
                return try transaction.document(id("a")) == nil
            }) { result in
                guard case .success(false) = result else { return gone.open() }
                writeOn()
            }
        }
        // Several, so that one waits whenever another is done.
        for _ in 0..<3 { writeOn() }
        gone.wait()
        #expect(try database.read { try $0.document(id("a")) } == nil)
    }
}
