import KithDocuments
import KithReplication
import KithStore
import KithWire
import Testing

/// Couchbase Lite refuses a revision whose history skips a generation before the first ancestor that it has.
@Suite("Histories for Couchbase Lite clients")
struct ClientHistoryTests {
    private let database: Database

    init() throws { database = try SessionPair.database() }

    private func keepRevisions(_ count: Int) throws {
        try database.writeBlocking { try $0.setSettings(DatabaseSettings(revisionsLimit: count)) }
    }

    /// The history that a client gets which has some revisions of the only document.
    private func history(
        knowing known: [String], maxHistory: String = "50"
    ) throws -> (revision: RevisionID, history: [RevisionID]) {
        let client = try Stranger(database)
        let list = known.map { "\"\($0)\"" }.joined(separator: ",")
        client.answer = {
            $0.properties["Profile"] == "changes" ? (["maxHistory": maxHistory], Array("[[\(list)]]".utf8)) : ([:], [])
        }
        try client.ask("subChanges")
        let sent = try #require(client.takeRequests("rev").first)
        let history = try (sent.properties["history"] ?? "").split(separator: ",").map {
            try RevisionID(parsing: String($0))
        }
        let revision = try RevisionID(parsing: sent.properties["rev"] ?? "")
        #expect(isAcceptable(revision, history, known: known, depth: Int(maxHistory) ?? 0))
        return (revision, history)
    }

    /// The rule of Couchbase Lite: generations fall by one down to the first ancestor that it has, unless so deep that it
    /// would be pruned; and it reads only digests of an even number of lower-case hex digits.
    private func isAcceptable(_ revision: RevisionID, _ history: [RevisionID], known: [String], depth: Int) -> Bool {
        var last = revision.generation
        for (index, ancestor) in history.enumerated() {
            guard ancestor.hasHexDigest else { return false }
            guard ancestor.generation == last - 1 || (ancestor.generation < last && index + 1 >= depth - 1) else {
                return false
            }
            if known.contains(ancestor.description) { return true }
            last = ancestor.generation
        }
        return known.isEmpty
    }

    private func isFiller(_ text: some StringProtocol) -> Bool {
        String(text).wholeMatch(of: /[1-9][0-9]*-faded000[0-9a-f]{16}/) != nil
    }

    @Test("a pruned branch joins at the revision that the client has, and fillers stand for what is missing")
    func pruned() throws {
        try keepRevisions(3)
        var history: [String] = []
        for generation in 1...10 {
            try database.insert("doc", "\(generation)-aa", history: history)
            history.insert("\(generation)-aa", at: 0)
        }
        let (_, sent) = try self.history(knowing: ["3-aa", "2-aa"])
        let texts = sent.map(\.description)
        #expect(texts.map { $0.prefix { $0 != "-" } } == ["9", "8", "7", "6", "5", "4", "3"])
        #expect(texts.map(isFiller) == [false, false, true, true, true, true, false])
        #expect(texts.last == "3-aa")
        // The same each time, so a client that is told twice has one branch.
        #expect(try self.history(knowing: ["3-aa", "2-aa"]).history == sent)
        // A client that has nothing of it needs no fillers behind what is known here.
        #expect(try self.history(knowing: []).history.map(\.description) == ["9-aa", "8-aa"])
        // What lies deeper than the client wants is the last, whatever is between.
        #expect(
            try self.history(knowing: ["3-aa"], maxHistory: "5").history.map { "\($0.generation)" } == [
                "9", "8", "7", "3",
            ])
        // Between Kith nodes gaps are legal.
        let node = try Stranger(database, peerIsKith: true)
        node.answer = { $0.properties["Profile"] == "changes" ? ([:], Array("[[\"3-aa\"]]".utf8)) : ([:], []) }
        try node.ask("subChanges", ["continuous": "true"])
        #expect(node.takeRequests("rev").first?.properties["history"] == "9-aa,8-aa,3-aa")
    }

    @Test("a merged revision has its marks between, also where they are all that is left of its history")
    func merged() throws {
        let winner = try RevisionID(parsing: "3-cc")
        let mark = try RevisionID.mergeMark(of: RevisionID(parsing: "3-bb"), after: winner)
        for limit in [1_000, 2] {
            try keepRevisions(limit)
            try database.insert("doc", "3-cc", history: ["2-aa", "1-aa"])
            try database.insert("doc", "3-bb", history: ["2-aa", "1-aa"])
            try database.insert("doc", "4-dd", history: ["3-bb"], isDeleted: true)
            try database.insert("doc", "5-ee", history: ["\(mark)", "3-cc"])
            // The client is on the branch that lost.
            let sent = try history(knowing: ["3-bb", "2-aa", "1-aa"]).history
            #expect(sent.first == mark)
            #expect(sent.last?.description == "2-aa")
            #expect(sent.count == 3)
            // Or on the one that won.
            #expect(try history(knowing: ["3-cc", "2-aa"]).history.map(\.description) == ["\(mark)", "3-cc"])
        }
    }

    @Test("a conflict that was resolved, and a deletion, reach a client that has an old revision of either branch")
    func resolved() throws {
        try keepRevisions(2)
        for branch in ["aa", "bb"] {
            var history = ["1-aa"]
            for generation in 2...8 {
                try database.insert("doc", "\(generation)-\(branch)", history: history)
                history.insert("\(generation)-\(branch)", at: 0)
            }
        }
        try database.insert("doc", "9-aa", history: ["8-aa"], isDeleted: true)
        for known in ["3-bb", "3-aa", "1-aa"] {
            let (revision, sent) = try history(knowing: [known])
            #expect(revision.description == "8-bb")
            #expect(sent.last?.description == known)
        }
        try database.insert("doc", "9-bb", history: ["8-bb"], isDeleted: true)
        let (revision, sent) = try history(knowing: ["3-bb", "1-aa"])
        #expect(revision.description == "9-bb")
        #expect(sent.map { "\($0.generation)" } == ["8", "7", "6", "5", "4", "3"])
    }

    @Test("ancestors that Couchbase Lite cannot read are filled too")
    func unreadable() throws {
        try database.insert("doc", "5-ee", history: ["4-XYZ", "3-abc", "2-aa", "1-~"])
        let sent = try history(knowing: []).history.map(\.description)
        #expect(sent.map(isFiller) == [true, true, false])
        #expect(sent.last == "2-aa")
    }

    @Test("however large the gap is and however much a client asks for, a history is as long as any other")
    func bounded() throws {
        try database.insert("doc", "4000000000-ee", history: ["5-aa"])
        for maxHistory in ["50", "2000000000"] {
            let client = try Stranger(database)
            client.answer = {
                $0.properties["Profile"] == "changes"
                    ? (["maxHistory": maxHistory], Array("[[\"5-aa\"]]".utf8)) : ([:], [])
            }
            try client.ask("subChanges")
            let sent = client.takeRequests("rev").first?.properties["history"]?.split(separator: ",") ?? []
            #expect(sent.count == min(Int(maxHistory) ?? 0, ReplicationLimits().historyMax) - 1)
            #expect(sent.last == "5-aa")
            #expect(sent.dropLast().allSatisfy(isFiller))
        }
    }

    @Test("what a client sends back with fillers in it joins the real ancestor, and fillers are no revisions here")
    func comeBack() throws {
        try keepRevisions(3)
        for generation in 1...10 {
            try database.insert("doc", "\(generation)-aa", history: generation > 1 ? ["\(generation - 1)-aa"] : [])
        }
        let (_, sent) = try history(knowing: ["3-aa"])
        let other = try SessionPair.database()
        let texts = ["10-aa"] + sent.map(\.description)
        for database in [database, other] {
            let client = try Stranger(database)
            let answer = try client.ask(
                "rev",
                [
                    "id": "doc", "rev": "11-bb", "history": texts.joined(separator: ","), "sequence": "1",
                    "noconflicts": "1",
                ], "{}")
            #expect(answer?.kind == .response)
            #expect(try database.leaves("doc") == ["11-bb"])
            // Couchbase Lite makes some of its own.
            let second = try client.ask(
                "rev",
                [
                    "id": "doc", "rev": "13-cc", "history": "12-faded0001234567812345678,11-bb", "sequence": "2",
                    "noconflicts": "1",
                ], "{}")
            #expect(second?.kind == .response)
            #expect(try database.leaves("doc") == ["13-cc"])
            let id = try DocumentID("doc")
            let leaf = try RevisionID(parsing: "13-cc")
            let known = try database.read { try $0.history(id, leaf) } ?? []
            #expect(known.first?.description == "11-bb")
            #expect(!known.contains { $0.isFiller })
            #expect(try database.findFaults().isEmpty)
        }
        // A node that knows nothing but what the client told it, and one that knows the rest, agree.
        let pair = try SessionPair(databases: [database, other])
        try pair.run()
        #expect(try database.leaves("doc") == other.leaves("doc"))
        let digests = try pair.digests()
        #expect(digests[0] == digests[1])
    }

    @Test("a filler is no revision to be stored")
    func fillerItself() throws {
        let client = try Stranger(database)
        let answer = try client.ask("rev", ["id": "doc", "rev": "2-faded0001234567812345678", "sequence": "1"], "{}")
        #expect(answer?.errorName == "HTTP/400")
        #expect(try database.leaves("doc") == [])
    }
}
