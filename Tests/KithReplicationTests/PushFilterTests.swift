import KithDocuments
import KithReplication
import KithStore
import KithWire
import Testing

@Suite("Filters of the app: what it lets go to a peer")
struct PushFilterTests {
    /// Lets documents pass whose `n` is one of these, and tombstones where they are not kept back.
    private func filter(_ name: String, _ numbers: Set<Int64>, tombstones: Bool = true) -> PushFilter {
        PushFilter(name: name) { document in
            if document.isDeleted { return tombstones }
            return (try? JSONValue(parsing: document.body))?["n"]?.int64Value.map { numbers.contains($0) } ?? false
        }
    }

    private func present(_ pair: SessionPair, _ index: Int) throws -> [String] {
        try pair.databases[index].read { snapshot in
            try snapshot.changes(since: 0, limit: 100).map(\.id.text).sorted()
        }
    }

    @Test("only what passes goes to the peer, whichever side opened the link, and the link is idle", arguments: [0, 1])
    func passes(sender: Int) throws {
        let pair = try SessionPair()
        pair.filters[sender] = filter("ones", [1])
        try pair.connect()
        for number in 0..<4 { try pair.put(sender, "d-\(number)", "{\"n\":\(number)}", files: ["f": [UInt8(number)]]) }
        try pair.put(1 - sender, "other", "{\"n\":9}")
        try pair.run()
        try pair.pass(seconds: 10)
        #expect(try present(pair, 1 - sender) == ["d-1", "other"])
        // What comes is not filtered.
        #expect(try present(pair, sender).contains("other"))
        for session in pair.sessions {
            #expect(session.status.state == .idle)
            #expect(session.status.toSend == 0)
            #expect(session.status.refusals == 0)
        }
        // Nothing is looked at twice under the same name.
        try pair.connect()
        try pair.run()
        #expect(pair.sessions[sender].status.revisionsSent == 0)
        #expect(pair.frames[0] + pair.frames[1] < 16, "\(pair.frames)")
    }

    @Test("another filter begins anew, and so does none", arguments: [0, 1])
    func anotherFilter(sender: Int) throws {
        let pair = try SessionPair()
        for number in 0..<4 { try pair.put(sender, "d-\(number)", "{\"n\":\(number)}") }
        let steps: [(PushFilter?, [String])] = [
            (filter("ones", [1]), ["d-1"]), (filter("twos", [2]), ["d-1", "d-2"]),
            // A filter that is asked for again goes on where it was, and has nothing new.
            (filter("ones", [1]), ["d-1", "d-2"]), (nil, ["d-0", "d-1", "d-2", "d-3"]),
            (filter("none", []), ["d-0", "d-1", "d-2", "d-3"]),
        ]
        for (filter, expected) in steps {
            pair.filters[sender] = filter
            try pair.connect()
            try pair.run()
            try pair.pass(seconds: 10)
            #expect(try present(pair, 1 - sender) == expected)
            let kept = try #require(try pair.databases[sender].read { try $0.localDocument("progress/other") })
            // Where nothing passes there is nothing to note.
            if filter?.name != "none" {
                #expect(PeerProgress(parsing: kept)?.filterTag == filter.map { "f-\($0.name)" })
            }
            #expect(pair.sessions.allSatisfy { $0.status.state == .idle })
        }
        let digests = try pair.digests()
        #expect(digests[0] == digests[1])
    }

    // Who is only asked is told no position of its own where it has announced none, and looks again.
    @Test("where nothing passes, who keeps the checkpoint does not look through it a second time")
    func nothingPasses() throws {
        let pair = try SessionPair()
        let sender = 0
        pair.filters[sender] = filter("none", [])
        for number in 0..<300 { try pair.put(sender, "d-\(number)", "{\"n\":\(number)}") }
        var positions: [UInt64] = []
        for _ in 0..<2 {
            positions = []
            try pair.connect()
            try pair.run { index, request in
                if case .readChanges(let since, _, _) = request, index == sender { positions.append(since) }
                return false
            }
            try pair.pass(seconds: 10)
            #expect(pair.sessions.allSatisfy { $0.status.state == .idle })
        }
        #expect(positions.allSatisfy { $0 == 300 }, "\(positions)")
    }

    @Test("what ceases to match is sent no more; a deletion goes where tombstones pass", arguments: [0, 1])
    func ceasesToMatch(sender: Int) throws {
        let pair = try SessionPair()
        pair.filters[sender] = filter("ones", [1])
        try pair.connect()
        let first = try pair.put(sender, "d", "{\"n\":1}")
        try pair.run()
        let second = try pair.put(sender, "d", "{\"n\":2}", parent: first)
        try pair.run()
        #expect(try pair.databases[1 - sender].winner("d") == "\(first) {\"n\":1}")
        let third = try pair.put(sender, "d", "{\"n\":1,\"again\":true}", parent: second)
        try pair.run()
        #expect(try pair.databases[1 - sender].leaves("d") == ["\(third)"])
        pair.filters[sender] = filter("ones, no tombstones", [1], tombstones: false)
        try pair.connect()
        try pair.run()
        let gone = try pair.put(sender, "d", "{}", parent: third, isDeleted: true)
        try pair.run()
        #expect(try pair.databases[1 - sender].leaves("d") == ["\(third)"])
        pair.filters[sender] = filter("ones", [1])
        try pair.connect()
        try pair.run()
        #expect(try pair.databases[1 - sender].leaves("d") == ["\(gone)"])
    }

    @Test("of a conflict each leaf is judged by itself; a client is told of the winner or of nothing")
    func conflicts() throws {
        let pair = try SessionPair()
        pair.filters[0] = filter("ones", [1])
        try pair.connect()
        let root = try pair.put(0, "d", "{\"n\":1}")
        try pair.databases[0].insert("d", "2-aa", history: ["\(root)"])
        let match = try pair.put(0, "e", "{\"n\":1}")
        try pair.databases[0].insert("e", "9-ff")
        try pair.noteChange(0)
        try pair.run()
        // The winner of each has an empty body, which does not pass.
        #expect(try pair.databases[1].leaves("d") == [])
        #expect(try pair.databases[1].leaves("e") == ["\(match)"])

        let client = try Stranger(pair.databases[0])
        client.filter = filter("ones", [1])
        try client.noteChange()
        #expect(try client.ask("subChanges")?.error == nil)
        #expect(client.takeRequests("changes").allSatisfy { $0.text == "[]" })
    }

    @Test("a position of another filter, or of none, counts for nothing, and one of this filter counts")
    func positions() throws {
        let database = try SessionPair.database()
        for number in 0..<3 { try database.put("d-\(number)", "{\"n\":1}") }
        func announced(since: String, tag: String?) throws -> [String] {
            let peer = try Stranger(database, filterTag: tag)
            try peer.noteChange()
            #expect(try peer.ask("subChanges", ["since": since])?.error == nil)
            return peer.takeRequests("changes").filter { $0.text != "[]" }.map { $0.text }
        }
        #expect(try announced(since: "3", tag: nil) == [])
        #expect(try announced(since: "3", tag: "f").first?.hasPrefix(#"[["1:f","d-0","#) == true)
        #expect(try announced(since: #""3:f""#, tag: "f") == [])
        #expect(try announced(since: "3:f", tag: "f") == [])
        #expect(try announced(since: #""2:f""#, tag: "f").first?.hasPrefix(#"[["3:f","d-2","#) == true)
        for other in [#""3:g""#, #""3:f"#, #""3""#, #""9:f""#, ":f", #"":f""#, #""3:ff""#] {
            #expect(try announced(since: other, tag: "f").first?.hasPrefix(#"[["1:f""#) == true, "\(other)")
        }
        #expect(try announced(since: #""3:f""#, tag: nil).first?.hasPrefix("[[1,") == true)
    }
}
