import KithDocuments
import KithStore
import Testing

@Suite("Revisions made elsewhere")
struct RevisionTests {
    /// Inserts revisions one by one or in one transaction into a fresh database.
    private func database(with revisions: [IncomingRevision], inOneBody: Bool = false) throws -> Database {
        let database = try memoryDatabase()
        if inOneBody {
            try database.writeBlocking { transaction in
                for revision in revisions { try transaction.insert(revision) }
            }
        } else {
            for revision in revisions { try database.writeBlocking { _ = try $0.insert(revision) } }
        }
        return database
    }

    private static let sevens = "1-77777777777777777777777777777777"

    /// Documents with the winner that each must have, whatever the order.
    static let cases: [(winner: String, deleted: Bool, revisions: [(chain: [String], deleted: Bool)])] = [
        // Two roots: the higher generation wins over the higher hash.
        (
            "3-11", false,
            [(["3-11", "2-22", "1-33"], false), (["2-ff", "1-ee"], false)]
        ),
        // Generations are numbers.
        (
            "10-00", false,
            [
                (["9-99", "8-08", "7-07", "6-06"], false),
                (["10-00", "9-09", "8-18"], false),
            ]
        ),
        // Live before deleted.
        ("2-55", false, [(["5-dd", "4-cc", "3-bb", "2-aa", sevens], true), (["2-55", sevens], false)]),
        // Tombstones only.
        ("4-af", true, [(["4-af", "3-bb", "2-cc", sevens], true), (["4-ae", "3-88", "2-cc", sevens], true)]),
        // A tie of three.
        ("2-cc", false, [(["2-bb", sevens], false), (["2-cc", sevens], false), (["2-aa", sevens], false)]),
        // The end of one branch, another branch, and the point where they part.
        (
            "3-cc", false,
            [
                (["1-aa"], false), (["2-bb", "1-aa"], false), (["3-cc", "2-bb", "1-aa"], false),
                (["2-ee", "1-aa"], false),
            ]
        ),
        // A revision that came without its history first.
        ("2-cc", false, [(["2-cc"], false), (["1-aa"], false), (["2-cc", "1-aa"], false)]),
        // The winner of before is deleted on its branch.
        ("2-bb", false, [(["3-cc", "2-ee", "1-aa"], false), (["4-dd", "3-cc"], true), (["2-bb", "1-aa"], false)]),
    ]

    @Test("every order of arrival gives the same winner and the same digest", arguments: cases.indices)
    func orders(index: Int) throws {
        let expected = Self.cases[index]
        let revisions = try expected.revisions.map { try incoming("doc", $0.chain, deleted: $0.deleted) }
        var digests: Set<String> = []
        for order in permutations(revisions) {
            for inOneBody in [false, true] {
                let database = try database(with: order, inOneBody: inOneBody)
                let document = try #require(try database.read { try $0.document(id("doc")) })
                #expect(document.revision.description == expected.winner)
                #expect(document.isDeleted == expected.deleted)
                if !expected.deleted { #expect(text(document.body) == #"{"from":"\#(expected.winner)"}"#) }
                for leaf in document.leaves where !leaf.isDeleted {
                    let other = try #require(try database.read { try $0.document(id("doc"), revision: leaf.revision) })
                    #expect(text(other.body) == #"{"from":"\#(leaf.revision)"}"#)
                }
                #expect(try database.findFaults().isEmpty)
                digests.insert(try database.read { try $0.digest() }.hex)
            }
        }
        #expect(digests.count == 1)
    }

    @Test("random trees of many documents converge in any order")
    func randomTrees() throws {
        for seed in 1...6 {
            var random = SeededGenerator(state: UInt64(seed))
            var revisions: [IncomingRevision] = []
            for document in 0..<8 {
                var chains: [[String]] = []
                for _ in 0..<8 {
                    let above =
                        chains.isEmpty || Int.random(in: 0..<6, using: &random) == 0
                        ? [] : chains.randomElement(using: &random)!
                    let chain = ["\(above.count + 1)-\(Int.random(in: 4096..<65536, using: &random))"] + above
                    chains.append(chain)
                    // Everybody must send the same body for one revision, and may cut the history anywhere.
                    revisions.append(
                        try incoming(
                            "doc\(document)", Array(chain), deleted: chain[0].utf8.last! & 3 == 0, body: nil))
                }
            }
            var digests: Set<DatabaseDigestKey> = []
            for _ in 0..<6 {
                revisions.shuffle(using: &random)
                let database = try database(with: revisions, inOneBody: Bool.random(using: &random))
                #expect(try database.findFaults().isEmpty)
                digests.insert(DatabaseDigestKey(try database.read { try $0.digest() }))
            }
            #expect(digests.count == 1)
        }
    }

    struct DatabaseDigestKey: Hashable {
        let values: [String]
        init(_ digest: DatabaseDigest) {
            values = [
                digest.hex, "\(digest.documents)", "\(digest.deleted)", "\(digest.leafRevisions)",
                "\(digest.conflicts)",
            ]
        }
    }

    @Test("a revision that is there makes no new sequence, with or without its history")
    func alreadyPresent() throws {
        let database = try memoryDatabase()
        func insert(_ chain: [String], deleted: Bool = false) throws -> InsertOutcome {
            let revision = try incoming("a", chain, deleted: deleted)
            return try database.writeBlocking { try $0.insert(revision) }
        }
        #expect(try insert(["1-aa"]) == .inserted(sequence: 1))
        #expect(try insert(["1-aa"]) == .alreadyPresent)
        #expect(try insert(["3-cc", "2-bb", "1-aa"]) == .inserted(sequence: 2))
        // An ancestor that comes later has no place for its body.
        #expect(try insert(["2-bb", "1-aa"]) == .alreadyPresent)
        #expect(try insert(["3-cc", "2-bb"]) == .alreadyPresent)
        #expect(try insert(["3-cc"]) == .alreadyPresent)
        #expect(try database.read { try $0.lastSequence } == 2)
        // A history that tells only of older ancestors changes nothing that others are told.
        #expect(try insert(["5-ee"]) == .inserted(sequence: 3))
        #expect(try insert(["5-ee", "4-dd"]) == .alreadyPresent)
        #expect(try database.read { try $0.history(id("a"), revision("5-ee")) } == [revision("4-dd")])
        // One that shows that a leaf is an ancestor does.
        #expect(try insert(["5-ee", "4-dd", "3-cc"]) == .inserted(sequence: 4))
        #expect(try database.read { try $0.document(id("a")) }?.leaves.count == 1)
        #expect(try database.findFaults().isEmpty)
    }

    @Test("strange histories are kept as they are or refused whole")
    func strangeHistories() throws {
        let database = try memoryDatabase()
        func insert(_ name: String, _ chain: [String]) throws {
            let revision = try incoming(name, chain)
            try database.writeBlocking { _ = try $0.insert(revision) }
        }
        try insert("h1", ["1-a"])
        try insert("h1", ["2-c"])
        try insert("h1", ["3-c", "2-a"])
        let document = try #require(try database.read { try $0.document(id("h1")) })
        #expect(document.leaves.map(\.revision.description) == ["3-c", "2-c", "1-a"])
        #expect(try database.read { try $0.history(id("h1"), revision("3-c")) } == [revision("2-a")])
        try insert("h2", ["6-d", "5-d", "4-e"])
        #expect(try database.read { try $0.history(id("h2"), revision("6-d")) }?.count == 2)
        // Generations that do not fall.
        for chain in [["1-b", "1-a"], ["2-b", "3-a"], ["3-c", "1-a", "2-b"], ["2-b", "2-b"]] {
            #expect(code { try insert("h3", chain) } == .badDocument)
        }
        #expect(try database.read { try $0.document(id("h3")) } == nil)
        // A gap is legal.
        try insert("h4", ["9-i", "3-c"])
        #expect(try database.findFaults().isEmpty)
    }

    @Test("a body that is no document is refused by name, and the others of the batch are stored")
    func badBody() throws {
        let database = try memoryDatabase()
        let revisions = [
            try incoming("good1", ["1-aa"]), try incoming("bad", ["1-aa"], body: #"{"a":1e400}"#),
            try incoming("bad", ["2-bb", "1-aa"], body: "{"), try incoming("good2", ["1-aa"]),
        ]
        try database.writeBlocking { transaction in
            for revision in revisions {
                do {
                    try transaction.insert(revision)
                } catch let error as KithError {
                    #expect(error.code == .badDocument && error.message.contains("bad"))
                }
            }
        }
        #expect(try database.read { try $0.document(id("bad")) } == nil)
        #expect(try database.read { try $0.documentCount } == 2)
        #expect(try database.findFaults().isEmpty)
    }

    @Test("the same revision with another body: the first is kept")
    func clash() throws {
        let database = try memoryDatabase()
        let first = try incoming("a", ["1-aa"], body: #"{"n":1}"#)
        let second = try incoming("a", ["1-aa"], body: #"{"n":2}"#)
        try database.writeBlocking { _ = try $0.insert(first) }
        #expect(try database.writeBlocking { try $0.insert(second) } == .alreadyPresent)
        #expect(try text(#require(try database.read { try $0.document(id("a")) }).body) == #"{"n":1}"#)
    }

    @Test("deleting the winner of a conflict shows the other leaf; deleting both deletes the document")
    func deleteInConflict() throws {
        let database = try memoryDatabase()
        let branches = [
            try incoming("d1", ["3-bb", "2-22", "1-11"], body: #"{"from":"winner"}"#),
            try incoming("d1", ["3-aa", "2-33", "1-11"], body: #"{"from":"loser"}"#),
        ]
        try database.writeBlocking { transaction in for branch in branches { try transaction.insert(branch) } }
        let name = try id("d1")
        #expect(try database.read { try $0.conflictCount } == 1)
        #expect(try database.read { try $0.document(name) }?.conflicts == [revision("3-aa")])
        let winner = try revision("3-bb")
        let tombstone = try database.writeBlocking { try $0.delete(name, parent: winner).revision }
        #expect(tombstone.generation == 4)
        var document = try #require(try database.read { try $0.document(name) })
        #expect(document.revision.description == "3-aa" && !document.isDeleted)
        #expect(text(document.body) == #"{"from":"loser"}"#)
        #expect(document.conflicts.isEmpty)
        #expect(try database.read { try $0.conflictCount } == 0)
        #expect(
            code { try database.writeBlocking { _ = try $0.put(name, body: bytes("{}"), parent: winner) } } == .conflict
        )
        #expect(try database.findFaults().isEmpty)

        let loser = document.revision
        let second = try database.writeBlocking { try $0.delete(name, parent: loser).revision }
        document = try #require(try database.read { try $0.document(name) })
        #expect(document.isDeleted)
        #expect([tombstone, second].contains(document.revision))
        let parent = document.revision
        let back = try database.writeBlocking { try $0.put(name, body: bytes(#"{"back":1}"#), parent: nil).revision }
        #expect(back.generation == parent.generation + 1)
        #expect(try database.read { try $0.history(name, back) }?.first == parent)
        #expect(try database.findFaults().isEmpty)
    }

    @Test("a losing leaf can be edited, and may become the winner")
    func editLoser() throws {
        let database = try memoryDatabase()
        let branches = [try incoming("a", ["2-bb", "1-11"]), try incoming("a", ["2-aa", "1-11"])]
        try database.writeBlocking { transaction in for branch in branches { try transaction.insert(branch) } }
        let name = try id("a")
        let loser = try revision("2-aa")
        let third = try database.writeBlocking { try $0.put(name, body: bytes(#"{"n":3}"#), parent: loser).revision }
        let document = try #require(try database.read { try $0.document(name) })
        #expect(document.revision == third)
        #expect(document.conflicts == [try revision("2-bb")])
        #expect(
            try text(#require(try database.read { try $0.document(name, revision: revision("2-bb")) }).body)
                == #"{"from":"2-bb"}"#)
        #expect(try database.findFaults().isEmpty)
    }
}
