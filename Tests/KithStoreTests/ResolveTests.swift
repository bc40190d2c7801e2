import KithDocuments
import KithStore
import Testing

@Suite("Store: resolving conflicts")
struct ResolveTests {
    private func contested() throws -> Database {
        let database = try memoryDatabase()
        _ = try database.writeBlocking {
            try $0.insert(incoming("a", ["2-bb", "1-aa"]))
            try $0.insert(incoming("a", ["2-cc", "1-aa"]))
            try $0.insert(incoming("a", ["2-dd", "1-aa"]))
        }
        return database
    }

    @Test("choosing a leaf ends the others, and gives the winner a child that says the same, and what it ended")
    func choose() throws {
        let database = try contested()
        let result = try database.writeBlocking {
            try $0.resolve(id("a"), winner: revision("2-bb"), losers: [revision("2-cc"), revision("2-dd")])
        }
        try database.read { (snapshot) throws in
            let document = try #require(try snapshot.document(id("a")))
            #expect(document.revision == result.revision)
            let first = try revision("2-dd")
            let second = try RevisionID.mergeMark(of: revision("2-cc"), after: first)
            let history = try [
                RevisionID.mergeMark(of: revision("2-bb"), after: second), second, first, revision("1-aa"),
            ]
            #expect(try snapshot.history(id("a"), document.revision) == history)
            #expect(text(document.body) == #"{"from":"2-bb"}"#)
            #expect(document.conflicts == [])
            #expect(document.leaves.count == 3)
            #expect(document.sequence == result.sequence)
            #expect(try snapshot.conflictCount == 0)
        }
        #expect(try database.findFaults() == [])
    }

    @Test("two nodes that choose different leaves lose neither: these are in conflict again on both")
    func chooseApart() throws {
        let (one, two) = (try contested(), try contested())
        let leaves = try ["2-dd", "2-cc", "2-bb"].map { try revision($0) }
        for (database, kept) in [(one, leaves[0]), (two, leaves[1])] {
            try database.writeBlocking {
                _ = try $0.resolve(id("a"), winner: kept, losers: leaves.filter { $0 != kept })
            }
        }
        for (source, target) in [(one, two), (two, one)] {
            let document = try #require(try source.read { try $0.document(id("a")) })
            for leaf in document.leaves {
                let (body, history) = try source.read {
                    (
                        try $0.document(id("a"), revision: leaf.revision)?.body ?? [],
                        try $0.history(id("a"), leaf.revision) ?? []
                    )
                }
                _ = try target.writeBlocking {
                    try $0.insert(
                        IncomingRevision(
                            id: id("a"), revision: leaf.revision, history: history, isDeleted: leaf.isDeleted,
                            body: body))
                }
            }
        }
        for database in [one, two] {
            let conflict = try #require(try database.read { try $0.conflict(id("a")) })
            #expect(Set(conflict.versions.map { text($0.body) }) == [#"{"from":"2-cc"}"#, #"{"from":"2-dd"}"#])
        }
        #expect(try one.read { try $0.digest() } == two.read { try $0.digest() })
    }

    @Test("a merged body becomes a child of the winner; two nodes that merge alike make the same revisions")
    func merge() throws {
        let (one, two) = (try contested(), try contested())
        for database in [one, two] {
            let result = try database.writeBlocking {
                try $0.resolve(
                    id("a"), winner: revision("2-dd"), losers: [revision("2-bb"), revision("2-cc")],
                    body: bytes(#"{ "merged" : 1.0 }"#))
            }
            #expect(result.revision.generation == 5)
            let document = try #require(try database.read { try $0.document(id("a")) })
            #expect(document.revision == result.revision)
            #expect(text(document.body) == #"{"merged":1}"#)
            #expect(try database.read { try $0.conflictCount } == 0)
            #expect(try database.findFaults() == [])
        }
        #expect(try one.read { try $0.digest() } == two.read { try $0.digest() })
        // What one node has resolved is nothing new to the other.
        let merged = try #require(try one.read { try $0.document(id("a")) })
        let outcome = try two.writeBlocking {
            try $0.insert(
                IncomingRevision(
                    id: id("a"), revision: merged.revision, history: [revision("2-dd"), revision("1-aa")],
                    isDeleted: false, body: merged.body))
        }
        #expect(outcome == .alreadyPresent)
    }

    @Test("a leaf that came in between stays in conflict, and one that is gone stops the resolution")
    func unseen() throws {
        let database = try contested()
        _ = try database.writeBlocking {
            try $0.resolve(id("a"), winner: revision("2-dd"), losers: [revision("2-bb")])
        }
        #expect(try database.read { try $0.conflictCount } == 1)
        let before = try database.read { try $0.digest() }
        let gone = code {
            _ = try database.writeBlocking {
                _ = try $0.resolve(
                    id("a"), winner: revision("2-dd"), losers: [revision("2-cc"), revision("2-bb")], body: bytes("{}"))
            }
        }
        #expect(gone == .conflict)
        #expect(try database.read { try $0.digest() } == before)
    }

    @Test("what makes no sense is refused: no losers, the winner among them, one twice, no document, a bad body")
    func refused() throws {
        let database = try contested()
        func refusal(_ losers: [String], winner: String = "2-dd", name: String = "a", body: String? = nil) -> ErrorCode?
        {
            code {
                _ = try database.writeBlocking {
                    _ = try $0.resolve(
                        id(name), winner: revision(winner), losers: losers.map { try revision($0) },
                        body: body.map(bytes))
                }
            }
        }
        #expect(refusal([]) == .badRequest)
        #expect(refusal(["2-dd"]) == .badRequest)
        #expect(refusal(["2-bb", "2-bb"]) == .badRequest)
        #expect(refusal(["2-bb"], name: "b") == .notFound)
        #expect(refusal(["2-bb"], winner: "1-aa") == .conflict)
        #expect(refusal(["2-bb"], body: "[]") == .badDocument)
        #expect(refusal(["2-bb"], body: #"{"_x":1}"#) == .badDocument)
        #expect(try database.read { try $0.lastSequence } == 3)
    }

    @Test("a merge can delete the document")
    func mergeDeletes() throws {
        let database = try contested()
        _ = try database.writeBlocking {
            try $0.resolve(
                id("a"), winner: revision("2-dd"), losers: [revision("2-bb"), revision("2-cc")], body: bytes("{}"),
                isDeleted: true)
        }
        #expect(try database.read { try $0.document(id("a")) }?.isDeleted == true)
        #expect(try database.read { try $0.documentCount } == 0)
        #expect(try database.findFaults() == [])
    }
}
