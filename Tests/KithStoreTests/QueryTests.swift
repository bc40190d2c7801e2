import KithDocuments
import KithStore
import Testing

@Suite("Changes, conflicts and what replication asks")
struct QueryTests {
    @Test("changes come by sequence, each document once, with all leaves")
    func changes() throws {
        let database = try memoryDatabase()
        let revisions = [
            try incoming("a", ["1-aa"]), try incoming("b", ["1-aa"]), try incoming("c", ["2-aa", "1-11"]),
            try incoming("b", ["2-bb", "1-aa"]), try incoming("c", ["2-bb", "1-11"]),
            try incoming("c", ["2-cc", "1-11"], deleted: true),
        ]
        for revision in revisions { try database.writeBlocking { _ = try $0.insert(revision) } }
        let changes = try database.read { try $0.changes(since: 0, limit: 100) }
        #expect(changes.map(\.sequence) == [1, 4, 6])
        #expect(changes.map(\.id.text) == ["a", "b", "c"])
        #expect(changes[2].leaves.map(\.revision.description) == ["2-bb", "2-aa", "2-cc"])
        #expect(changes[2].leaves.map(\.isDeleted) == [false, false, true])
        #expect(changes[2].winner.revision.description == "2-bb")
        #expect(try database.read { try $0.changes(since: 1, limit: 1) }.map(\.sequence) == [4])
        #expect(try database.read { try $0.changes(since: 6, limit: 1) }.isEmpty)
        #expect(try database.read { try $0.changes(since: .max, limit: 1) }.isEmpty)
        #expect(try database.read { [try $0.pendingCount(since: 0), try $0.pendingCount(since: 1)] } == [3, 2])
        #expect(try database.read { [try $0.pendingCount(since: 6), try $0.pendingCount(since: .max)] } == [0, 0])
    }

    @Test("conflicts are documents with more than one live leaf")
    func conflicts() throws {
        let database = try memoryDatabase()
        for (index, name) in ["a", "b", "c", "d"].enumerated() {
            let revisions = [
                try incoming(name, ["2-aa", "1-11"]), try incoming(name, ["2-bb", "1-11"], deleted: index == 1),
            ]
            try database.writeBlocking { transaction in for revision in revisions { try transaction.insert(revision) } }
        }
        #expect(try database.read { try $0.conflictCount } == 3)
        #expect(try database.read { try $0.conflicts(limit: 10) }.map(\.id.text) == ["a", "c", "d"])
        #expect(try database.read { try $0.conflicts(limit: 1, startingAfter: id("a")) }.map(\.id.text) == ["c"])
        let digest = try database.read { try $0.digest() }
        #expect([digest.documents, digest.deleted, digest.leafRevisions, digest.conflicts] == [4, 0, 8, 3])
        #expect(digest.hex.utf8.count == 64)
    }

    @Test("a lookup knows leaves and ancestors, and offers ancestors for what it does not know")
    func lookup() throws {
        let database = try memoryDatabase()
        let revisions = [
            try incoming("single", ["1-aa"]), try incoming("long", ["4-dd", "3-cc", "2-bb", "1-aa"]),
            try incoming("long", ["3-ee", "2-bb"]),
        ]
        try database.writeBlocking { transaction in for revision in revisions { try transaction.insert(revision) } }
        func ask(_ name: String, _ text: String) throws -> RevisionLookup {
            try database.read { try $0.lookup([(id(name), revision(text))]) }[0]
        }
        #expect(try ask("none", "1-aa") == .missing(ancestors: []))
        #expect(try ask("single", "1-aa") == .known)
        #expect(try ask("single", "1-bb") == .missing(ancestors: []))
        #expect(try ask("single", "2-bb") == .missing(ancestors: [revision("1-aa")]))
        #expect(try ask("long", "4-dd") == .branch(leaves: [revision("4-dd"), revision("3-ee")]))
        #expect(try ask("long", "3-ee") == .branch(leaves: [revision("4-dd"), revision("3-ee")]))
        for known in ["3-cc", "2-bb", "1-aa"] {
            #expect(try ask("long", known) == .superseded(leaf: revision("4-dd")))
        }
        #expect(
            try ask("long", "5-ff")
                == .missing(ancestors: ["4-dd", "3-ee", "3-cc", "2-bb", "1-aa"].map { try revision($0) }))
        #expect(try ask("long", "3-ff") == .missing(ancestors: ["2-bb", "1-aa"].map { try revision($0) }))
        #expect(try database.read { try $0.lookup([]) }.isEmpty)
    }

    @Test("a leaf that another node knows to be superseded ceases to be one; nothing else is changed by such a word")
    func supersede() throws {
        let database = try memoryDatabase()
        let revisions = [try incoming("a", ["30-aa", "29-bb"]), try incoming("a", ["5-cc"])]
        try database.writeBlocking { transaction in for revision in revisions { try transaction.insert(revision) } }
        func take(_ leaf: String, _ superseded: String) throws -> Bool {
            let word = try Supersession(id: id("a"), leaf: revision(leaf), revision: revision(superseded))
            return try database.writeBlocking { try $0.supersede(word) }
        }
        let before = try database.read { try $0.lastSequence }
        #expect(try !take("31-ff", "5-cc"))
        #expect(try !take("30-aa", "4-cc"))
        #expect(try !take("5-cc", "30-aa"))
        #expect(try database.read { try $0.lastSequence } == before)
        #expect(try take("30-aa", "5-cc"))
        #expect(try database.read { try $0.lastSequence } > before)
        #expect(try !take("30-aa", "5-cc"))
        let document = try database.read { try $0.document(id("a")) }
        #expect(try document?.leaves.map(\.revision) == [revision("30-aa")])
        #expect(try database.checkNow().faults.isEmpty)
    }

    @Test("at most ten ancestors are offered")
    func ancestorsMax() throws {
        let database = try memoryDatabase()
        let chain = (1...30).reversed().map { "\($0)-aa" }
        let revision = try incoming("a", chain)
        try database.writeBlocking { _ = try $0.insert(revision) }
        let answer = try database.read { try $0.lookup([(id("a"), KithStoreTests.revision("31-bb"))]) }[0]
        guard case .missing(let ancestors) = answer else {
            Issue.record("known")
            return
        }
        #expect(ancestors.count == StoreLimits.ancestorsMax)
        #expect(ancestors.first?.description == "30-aa")
    }

    @Test("a leaf is handed over with body and history, and gives the same database elsewhere")
    func transfer() throws {
        let source = try memoryDatabase()
        let revisions = [
            try incoming("a", ["1-aa"]), try incoming("b", ["3-cc", "2-bb", "1-aa"]),
            try incoming("b", ["3-dd", "2-bb"]),
            try incoming("c", ["2-cc", "1-aa"], deleted: true), try incoming("b", ["2-ff", "1-ee"], deleted: true),
        ]
        try source.writeBlocking { transaction in for revision in revisions { try transaction.insert(revision) } }
        let target = try memoryDatabase()
        for change in try source.read({ try $0.changes(since: 0, limit: 100) }) {
            for leaf in change.leaves {
                let sent = try #require(
                    try source.read { try $0.revisionForTransfer(change.id, leaf.revision) })
                #expect(sent.isDeleted == leaf.isDeleted)
                let received = IncomingRevision(
                    id: sent.id, revision: sent.revision, history: sent.history, isDeleted: sent.isDeleted,
                    body: sent.body)
                try target.writeBlocking { _ = try $0.insert(received) }
            }
        }
        #expect(try source.read { try $0.digest() } == target.read { try $0.digest() })
        #expect(try source.read { try $0.revisionForTransfer(id("b"), revision("2-bb")) } == nil)
        #expect(try source.read { try $0.revisionForTransfer(id("b"), revision("9-bb")) } == nil)
        #expect(try source.read { try $0.revisionForTransfer(id("a"), revision("2-bb")) } == nil)
        #expect(try source.read { try $0.revisionForTransfer(id("x"), revision("2-bb")) } == nil)
        #expect(
            try source.read { try $0.revisionForTransfer(id("b"), revision("3-dd")) }?.history == [
                revision("2-bb"), revision("1-aa"),
            ])
    }

    @Test("the digest sees ID, revision, deletion and body, and not sequences or the way here")
    func digest() throws {
        func digest(_ revisions: IncomingRevision...) throws -> String {
            let database = try memoryDatabase()
            for revision in revisions { try database.writeBlocking { _ = try $0.insert(revision) } }
            return try database.read { try $0.digest() }.hex
        }
        let base = try digest(incoming("a", ["1-aa"]), incoming("b", ["1-aa"]))
        #expect(try digest(incoming("b", ["1-aa"]), incoming("a", ["1-aa"])) == base)
        #expect(try digest(incoming("a", ["1-aa"], body: #" {"from" : "1-aa"}"#), incoming("b", ["1-aa"])) == base)
        var digests: Set<String> = [base]
        digests.insert(try digest())
        digests.insert(try digest(incoming("a", ["1-aa"])))
        digests.insert(try digest(incoming("a", ["1-aa"]), incoming("c", ["1-aa"])))
        digests.insert(try digest(incoming("a", ["1-aa"]), incoming("b", ["1-ab"])))
        digests.insert(try digest(incoming("a", ["1-aa"]), incoming("b", ["1-aa"], deleted: true)))
        digests.insert(try digest(incoming("a", ["1-aa"]), incoming("b", ["1-aa"], body: #"{"from":"1-ab"}"#)))
        digests.insert(try digest(incoming("a", ["1-aa"]), incoming("b", ["1-aa"]), incoming("b", ["1-ab"])))
        #expect(digests.count == 8)
    }
}
