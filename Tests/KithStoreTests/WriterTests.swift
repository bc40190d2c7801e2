import KithDocuments
import KithStore
import Testing

@Suite("The writer")
struct WriterTests {
    @Test("many writers at once: each result is right, and a body that throws undoes only itself")
    func groupCommit() async throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder)
        defer { database.close() }
        let outcomes = await withTaskGroup(of: (Int, UInt64?).self) { group in
            for number in 0..<400 {
                group.addTask {
                    let sequence = try? await database.write { transaction in
                        let written = try transaction.put(id("doc\(number)"), body: bytes(#"{"n":1}"#), parent: nil)
                        try transaction.put(id("other\(number)"), body: bytes("{}"), parent: nil)
                        if number % 7 == 0 { throw Refusal() }
                        return written.sequence
                    }
                    return (number, sequence)
                }
            }
            var outcomes: [(Int, UInt64?)] = []
            for await outcome in group { outcomes.append(outcome) }
            return outcomes
        }
        #expect(outcomes.count == 400)
        var sequences: Set<UInt64> = []
        for (number, sequence) in outcomes {
            let document = try database.read { try $0.document(id("doc\(number)")) }
            let other = try database.read { try $0.document(id("other\(number)")) }
            if number % 7 == 0 {
                #expect(sequence == nil && document == nil && other == nil)
            } else {
                #expect(document?.sequence == sequence && other != nil)
                if let sequence { sequences.insert(sequence) }
            }
        }
        #expect(sequences.count == 400 - 58)
        #expect(try database.findFaults().isEmpty)
    }

    @Test("bodies that wait share one commit; completions come in order, observers after them")
    func order() throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder)
        defer { database.close() }
        let events = Shared<[String]>([])
        let token = database.observe { sequence in events.withLock { $0.append("commit \(sequence)") } }
        // The first body keeps the writer busy until the others wait.
        let gate = Gate()
        let done = Gate()
        database.submitWrite({ _ in gate.wait() }, completion: { _ in events.withLock { $0.append("gate") } })
        for number in 1...3 {
            database.submitWrite({ transaction in
                if number == 2 { throw Refusal() }
                try transaction.put(id("\(number)"), body: bytes("{}"), parent: nil)
            }) { result in
                events.withLock { $0.append("\(number) \((try? result.get()) != nil)") }
                if number == 3 { done.open() }
            }
        }
        // Asked once: the first of the four may be taken at any moment.
        let waiting = database.queuedWriteCount
        #expect((3...4).contains(waiting))
        gate.open()
        done.wait()
        // Behind the observers of the commit before.
        try database.writeBlocking { _ in }
        let seen = events.withLock { $0 }
        #expect(
            seen.filter { $0 != "gate" } == [
                "1 true", "2 false", "3 true", "commit \(try database.read { try $0.lastSequence })",
            ])
        token.cancel()
    }

    @Test("what is told of success can be read at once")
    func visibleInCompletion() throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder)
        defer { database.close() }
        let isVisible = Shared(false)
        let done = Gate()
        database.submitWrite({ try $0.put(id("a"), body: bytes("{}"), parent: nil).sequence }) { _ in
            let document = try? database.read { try $0.document(id("a")) }
            isVisible.withLock { $0 = document != nil }
            done.open()
        }
        done.wait()
        #expect(isVisible.withLock { $0 })
    }

    @Test("when the commit fails, every body of it fails and nothing is there")
    func failingCommit() throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder)
        defer { database.close() }
        try database.writeBlocking { _ = try $0.put(id("before"), body: bytes("{}"), parent: nil) }
        // Behind the observers of that commit.
        try database.writeBlocking { _ in }
        try database.setCommitsFail(true)
        let commits = Shared(0)
        let token = database.observe { _ in commits.withLock { $0 += 1 } }
        let failures = Shared(0)
        let gate = Gate()
        database.submitWrite({ _ in gate.wait() }, completion: { _ in })
        for number in 0..<5 {
            database.submitWrite({ try $0.put(id("\(number)"), body: bytes("{}"), parent: nil).sequence }) { result in
                if case .failure = result { failures.withLock { $0 += 1 } }
            }
        }
        gate.open()
        #expect(
            code { _ = try database.writeBlocking { try $0.put(id("last"), body: bytes("{}"), parent: nil).sequence } }
                != nil)
        #expect(failures.withLock { $0 } == 5)
        #expect(commits.withLock { $0 } == 0)
        try database.setCommitsFail(false)
        #expect(try database.read { try $0.documentCount } == 1)
        // What the bodies had seen of sequences is not given again.
        let sequence = try database.writeBlocking { try $0.put(id("after"), body: bytes("{}"), parent: nil).sequence }
        #expect(sequence > 2)
        // Behind the observers of the commit before.
        try database.writeBlocking { _ in }
        #expect(commits.withLock { $0 } == 1)
        #expect(try database.findFaults().isEmpty)
        token.cancel()
    }

    @Test("an observation ends with its token")
    func observation() throws {
        let database = try memoryDatabase()
        let seen = Shared<[UInt64]>([])
        let first = database.observe { sequence in seen.withLock { $0.append(sequence) } }
        do {
            let second = database.observe { _ in seen.withLock { $0.append(0) } }
            try database.writeBlocking { _ = try $0.put(id("a"), body: bytes("{}"), parent: nil) }
            _ = second
        }
        try database.writeBlocking { _ = try $0.put(id("b"), body: bytes("{}"), parent: nil) }
        // No document changes here.
        try database.writeBlocking { try $0.setLocalDocument("x", [1]) }
        #expect(
            code { try database.writeBlocking { _ = try $0.put(id("b"), body: bytes("{}"), parent: nil) } } == .conflict
        )
        first.cancel()
        try database.writeBlocking { _ = try $0.put(id("c"), body: bytes("{}"), parent: nil) }
        #expect(seen.withLock { $0 } == [1, 0, 2])
    }

    @Test("sequences are never given twice, also after the last document was undone or the database reopened")
    func sequences() throws {
        let folder = TemporaryFolder()
        var seen: [UInt64] = []
        for round in 0..<3 {
            let database = try fileDatabase(folder, options: DatabaseOptions(writer: .caller))
            for number in 0..<3 {
                seen.append(
                    try database.writeBlocking {
                        try $0.put(id("\(round) \(number)"), body: bytes("{}"), parent: nil).sequence
                    })
                let leaked = Shared<UInt64>(0)
                #expect(throws: Refusal.self) {
                    try database.writeBlocking { transaction in
                        let sequence = try transaction.put(id("never"), body: bytes("{}"), parent: nil).sequence
                        leaked.withLock { $0 = sequence }
                        throw Refusal()
                    }
                }
                seen.append(leaked.withLock { $0 })
            }
            // The end of an open database gives no sequence back either.
            seen.append(
                try database.writeBlocking { try $0.put(id("end \(round)"), body: bytes("{}"), parent: nil).sequence })
            database.close()
        }
        #expect(Set(seen).count == seen.count)
        #expect(seen == seen.sorted())
    }

    @Test("closing while writing: each write either is done and durable, or fails as closed")
    func closeWhileWriting() async throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder)
        let succeeded = Shared<[Int]>([])
        let told = Shared(0)
        await withTaskGroup(of: Void.self) { group in
            for writer in 0..<4 {
                group.addTask {
                    for number in 0..<100 {
                        let name = writer * 1000 + number
                        do {
                            try await database.write { _ = try $0.put(id("\(name)"), body: bytes("{}"), parent: nil) }
                            succeeded.withLock { $0.append(name) }
                        } catch {
                            #expect((error as? KithError)?.code == .closed)
                        }
                        told.withLock { $0 += 1 }
                    }
                }
            }
            group.addTask {
                while told.withLock({ $0 }) < 40 { await Task.yield() }
                database.close()
            }
        }
        #expect(told.withLock { $0 } == 400)
        #expect(code { _ = try database.read { try $0.lastSequence } } == .closed)
        database.close()
        let again = try fileDatabase(folder, create: false)
        defer { again.close() }
        let names = succeeded.withLock { $0 }
        #expect(names.count >= 40)
        for name in names { #expect(try again.read { try $0.document(id("\(name)")) } != nil) }
        #expect(try again.read { try $0.documentCount } == names.count)
        #expect(try again.findFaults().isEmpty)
    }

    @Test("a closed database refuses everything, and its log is gone")
    func closed() async throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder)
        try database.writeBlocking { _ = try $0.put(id("a"), body: bytes("{}"), parent: nil) }
        database.close()
        // Once more does nothing.
        database.close()
        #expect(contents(folder.file() + "-wal") == nil)
        #expect(code { try database.writeBlocking { _ in } } == .closed)
        let outcome = Promise<ErrorCode>()
        database.submitRead({ try $0.lastSequence }) { result in
            if case .failure(let error) = result { outcome.set((error as? KithError)?.code ?? .internal) }
        }
        #expect(outcome.wait() == .closed)
    }

    @Test("letting go of a database does what is queued and leaves no thread behind")
    func letGo() throws {
        let folder = TemporaryFolder()
        let done = Gate()
        do {
            let database = try fileDatabase(folder)
            for number in 0..<50 {
                database.submitWrite({ try $0.put(id("\(number)"), body: bytes("{}"), parent: nil).sequence }) { _ in
                    if number == 49 { done.open() }
                }
            }
        }
        done.wait()
        let again = try fileDatabase(folder, create: false)
        defer { again.close() }
        #expect(try again.read { try $0.documentCount } == 50)
    }

    @Test("with the caller's thread everything is done when the call returns, also from inside")
    func callerMode() throws {
        for path in [":memory:", TemporaryFolder().file()] {
            let isMemory = path == ":memory:"
            let folder = TemporaryFolder()
            let database = try Database(
                path: isMemory ? path : folder.file(), name: DatabaseName("test"), create: true,
                options: DatabaseOptions(writer: .caller))
            let events = Shared<[String]>([])
            database.submitWrite({ transaction in
                try transaction.put(id("a"), body: bytes("{}"), parent: nil)
                database.submitWrite({ try $0.put(id("b"), body: bytes("{}"), parent: nil).sequence }) { _ in
                    events.withLock { $0.append("inner") }
                }
            }) { _ in
                events.withLock { $0.append("outer") }
                database.submitRead({ try $0.documentCount }) { result in
                    let count = (try? result.get()) ?? -1
                    events.withLock { $0.append("read \(count)") }
                }
                #expect(code { try database.writeBlocking { _ in } } == .internal)
            }
            #expect(events.withLock { $0.first } == "outer")
            #expect(events.withLock { Set($0) }.contains("inner"))
            #expect(try database.read { try $0.documentCount } == 2)
            #expect(events.withLock { $0.contains("read 2") || $0.contains("read 1") })
            database.close()
            #expect(code { _ = try database.read { try $0.documentCount } } == .closed)
        }
    }

    @Test("a transaction inside another on a database in memory is an error, not a wait without end")
    func nestedInMemory() throws {
        let database = try memoryDatabase()
        #expect(code { try database.read { _ in _ = try database.read { try $0.lastSequence } } } == .internal)
        #expect(try database.read { try $0.lastSequence } == 0)
    }

    @Test("a snapshot that was kept is refused")
    func keptSnapshot() throws {
        let database = try memoryDatabase()
        let kept = try database.read { $0 }
        #expect(code { _ = try kept.lastSequence } == .internal)
    }
}
