import KithDocuments
import KithReplication
import KithStore
import KithWire
import Testing

@Suite("What a Couchbase Lite client pulls")
struct ClientPullTests {
    private let database: Database
    private let client: Stranger

    init() throws {
        database = try SessionPair.database()
        client = try Stranger(database)
    }

    /// Lets the client want everything that is announced, with these ancestors.
    private func wantEverything(_ properties: [String: String] = ["maxHistory": "50", "blobs": "true"]) {
        client.answer = { request in
            guard request.properties["Profile"] == "changes" else { return ([:], []) }
            let count = (try? JSONValue(parsing: request.body))?.arrayValue?.count ?? 0
            return (properties, Array(("[" + Array(repeating: "[]", count: count).joined(separator: ",") + "]").utf8))
        }
    }

    /// Subscribes, knowing of what was written before.
    @discardableResult
    private func subscribe(_ properties: [String: String] = [:], _ body: String = "") throws -> BLIPMessage? {
        try client.noteChange()
        return try client.ask("subChanges", properties, body)
    }

    private func announced() -> [String] {
        client.takeRequests("changes").map { ($0.isNoReply ? "no reply " : "") + $0.text }
    }

    private func sent() -> [String] {
        client.takeRequests("rev").map { "\($0.properties["id"] ?? "") \($0.properties["rev"] ?? "")" }
    }

    @Test("one-shot pull, step by step: one entry for each document, an empty list at the end, and nothing after it")
    func oneShot() throws {
        try database.insert("a", "1-aa")
        try database.insert("b", "3-cc", history: ["2-bb", "1-aa"])
        try database.insert("b", "2-ee", history: ["1-aa"])
        try database.insert("gone", "2-bb", history: ["1-aa"], isDeleted: true)
        wantEverything()
        let answer = try subscribe(
            ["batch": "200", "versioning": "rev-trees", "sendReplacementRevs": "1", "revocations": "true"])
        #expect(answer?.kind == .response)
        #expect(answer?.body == [])
        #expect(announced() == [#"[[1,"a","1-aa"],[3,"b","3-cc"],[4,"gone","2-bb",true]]"#, "no reply []"])
        let revisions = client.takeRequests("rev")
        #expect(revisions.map { $0.properties["sequence"] } == ["1", "3", "4"])
        #expect(revisions.map { $0.properties["history"] } == [nil, "2-bb,1-aa", "1-aa"])
        #expect(revisions.map { $0.properties["deleted"] } == [nil, nil, "1"])
        #expect(revisions.allSatisfy { !$0.isNoReply })
        #expect(client.session.status.state == .idle)
        #expect(client.session.status.toSend == 0)
        try database.insert("later", "1-aa")
        try client.noteChange()
        #expect(client.requests.isEmpty)
    }

    @Test("one-shot pull ends where it was asked for, although the database goes on changing")
    func oneShotEnds() throws {
        for number in 0..<25 { try database.insert("d-\(number)", "1-aa") }
        wantEverything()
        var count = 0
        client.store = { request in
            // Another write before each read.
            if case .readChanges = request, count < 100 {
                count += 1
                try database.insert("more-\(count)", "1-aa")
                client.session.databaseChanged(
                    lastSequence: try database.read { try $0.lastSequence },
                    now: ReplicationInstant(monotonicSeconds: 1, wallSeconds: 1))
            }
            return nil
        }
        try subscribe(["batch": "10"])
        #expect(count < 10)
        #expect(announced().last == "no reply []")
        #expect(sent().count >= 25)
        #expect(client.session.status.state == .idle)
    }

    @Test(
        "a position is one of ours, or the beginning",
        arguments: [
            (nil, 3), ("0", 3), ("1", 2), ("3", 0), ("4", 3), ("null", 3), ("\"2\"", 3), ("\"5:10\"", 3), ("-1", 3),
            ("1.5", 3), ("99999999999999999999999", 3), ("", 3), ("[1]", 3),
        ] as [(String?, Int)])
    func since(text: String?, expected: Int) throws {
        for number in 0..<3 { try database.insert("d-\(number)", "1-aa") }
        wantEverything()
        #expect(try subscribe(text.map { ["since": $0] } ?? [:])?.kind == .response)
        #expect(sent().count == expected)
        #expect(announced().last == "no reply []")
    }

    @Test("a continuous pull gets what changes, in lists of the size that was asked for")
    func continuous() throws {
        for number in 0..<7 { try database.insert("d-\(number)", "1-aa") }
        wantEverything()
        try subscribe(["batch": "3", "continuous": "true"])
        #expect(announced().map { $0.split(separator: "d-").count - 1 } == [3, 3, 1, 0])
        #expect(sent().count == 7)
        try database.insert("d-0", "2-bb", history: ["1-aa"])
        try client.noteChange()
        #expect(announced() == [#"[[8,"d-0","2-bb"]]"#, "no reply []"])
        #expect(sent() == ["d-0 2-bb"])
        #expect(try subscribe([:])?.errorName == "HTTP/400")
    }

    @Test("activeOnly passes over the deletions of the past and tells those of the present", arguments: ["true", "1"])
    func activeOnly(value: String) throws {
        try database.insert("gone", "2-bb", history: ["1-aa"], isDeleted: true)
        try database.insert("here", "1-aa")
        wantEverything()
        try subscribe(["activeOnly": value, "continuous": "1"])
        #expect(sent() == ["here 1-aa"])
        try database.insert("here", "2-bb", history: ["1-aa"], isDeleted: true)
        try client.noteChange()
        #expect(sent() == ["here 2-bb"])
        #expect(client.session.status.toSend == 0)
    }

    @Test(
        "while a revision is on its way to a client nothing newer of its document is announced, nor what lies behind that"
    )
    func oneAtATime() throws {
        try database.insert("a", "1-aa")
        try database.insert("b", "1-aa")
        client.answer = { request in
            switch request.properties["Profile"] {
            case "changes":
                let count = (try? JSONValue(parsing: request.body))?.arrayValue?.count ?? 0
                return ([:], Array("[\(Array(repeating: "[]", count: count).joined(separator: ","))]".utf8))
            case "rev" where request.properties["rev"] == "1-aa": return nil
            default: return ([:], [])
            }
        }
        try subscribe(["continuous": "true"])
        #expect(announced() == [#"[[1,"a","1-aa"],[2,"b","1-aa"]]"#])
        let open = client.takeRequests("rev")
        #expect(open.count == 2)
        try database.insert("before", "1-bb")
        try database.insert("a", "2-aa", history: ["1-aa"])
        try database.insert("behind", "1-bb")
        try database.insert("b", "2-bb", history: ["1-aa"])
        try client.noteChange()
        #expect(announced() == [#"[[3,"before","1-bb"]]"#])
        #expect(client.session.status.toSend != 0)
        try client.answer(late: open[1])
        #expect(announced() == [])
        try client.answer(late: open[0])
        #expect(announced() == [#"[[4,"a","2-aa"],[5,"behind","1-bb"],[6,"b","2-bb"]]"#, "no reply []"])
        #expect(sent() == ["before 1-bb", "a 2-aa", "behind 1-bb", "b 2-bb"])
        #expect(client.session.status.state == .idle)
        #expect(client.session.status.toSend == 0)
    }

    @Test("document IDs restrict what is announced, now and later")
    func documentIDs() throws {
        for number in 0..<30 { try database.insert("d-\(number)", "1-aa") }
        wantEverything()
        let body = #"{"docIDs":["d-3","d-29","not here","_illegal"],"unknown":1}"#
        #expect(try subscribe(["continuous": "true", "batch": "5"], body)?.kind == .response)
        #expect(sent() == ["d-3 1-aa", "d-29 1-aa"])
        #expect(announced().last == "no reply []")
        #expect(client.session.status.toSend == 0)
        try database.insert("d-4", "2-bb", history: ["1-aa"])
        try database.insert("not here", "1-aa")
        try client.noteChange()
        #expect(sent() == ["not here 1-aa"])
        #expect(client.session.status.state == .idle)
    }

    @Test("what cannot be served is refused with the error that Couchbase Lite has for it, and the link goes on")
    func refused() throws {
        let ids = "[" + Array(repeating: "\"a\"", count: 10_001).joined(separator: ",") + "]"
        let cases: [([String: String], String, String)] = [
            (["filter": "sync_gateway/bychannel", "channels": "a"], "", "LiteCore/19"),
            (["versioning": "version-vectors"], "", "LiteCore/501"),
            ([:], "nonsense", "HTTP/400"), ([:], "[]", "HTTP/400"), ([:], #"{"docIDs":1}"#, "HTTP/400"),
            ([:], #"{"docIDs":[1]}"#, "HTTP/400"), ([:], "{\"docIDs\":\(ids)}", "HTTP/413"),
        ]
        for (properties, body, error) in cases {
            #expect(try subscribe(properties, body)?.errorName == error)
        }
        #expect(try subscribe(["batch": "0"], "{}")?.kind == .response)
        #expect(client.session.ended == nil)
    }

    @Test("a revision that is gone when it is asked for is named in a norev, or replaced where the client takes that")
    func gone() throws {
        for (properties, inAnswer) in [
            ([:], [:]), (["sendReplacementRevs": "1"], [:]), ([:], ["sendReplacementRevs": "true"]),
        ] {
            let database = try SessionPair.database()
            let client = try Stranger(database)
            try database.insert("doc", "1-aa")
            try database.insert("purged", "1-aa")
            var isChanged = false
            client.store = { request in
                guard case .readRevisions = request, !isChanged else { return nil }
                isChanged = true
                try database.insert("doc", "2-bb", history: ["1-aa"])
                let id = try DocumentID("purged")
                _ = try database.writeBlocking { try $0.purge(id) }
                return nil
            }
            client.answer = {
                $0.properties["Profile"] == "changes" ? (inAnswer, Array("[[],[]]".utf8)) : ([:], [])
            }
            try client.noteChange()
            try client.ask("subChanges", properties)
            let gone = client.takeRequests("norev")
            #expect(gone.allSatisfy { $0.isNoReply && $0.properties["error"] == "410" })
            let revisions = client.takeRequests("rev")
            if properties.isEmpty, inAnswer.isEmpty {
                #expect(gone.map { $0.properties["id"] } == ["doc", "purged"])
                #expect(gone.map { $0.properties["sequence"] } == ["1", "2"])
                #expect(gone.first?.properties["rev"] == "1-aa")
                #expect(revisions.isEmpty)
            } else {
                #expect(gone.map { $0.properties["id"] } == ["purged"])
                #expect(revisions.first?.properties["rev"] == "2-bb")
                #expect(revisions.first?.properties["replacedRev"] == "1-aa")
                #expect(revisions.first?.properties["sequence"] == "1")
            }
            #expect(client.session.status.state == .idle)
        }
    }

    @Test("a document that cannot be read is named in a norev and recorded, and stops no other")
    func damaged() throws {
        try database.insert("bad", "1-aa")
        try database.insert("good", "1-aa")
        wantEverything()
        let executor = StoreExecutor(database: database)
        client.store = { request in
            guard case .readRevisions = request, case .revisions(var answers) = executor.performNow(request) else {
                return nil
            }
            answers[0] = .failure(KithError(.damaged, "its row is damaged"))
            return .revisions(answers)
        }
        try subscribe()
        let gone = client.takeRequests("norev")
        #expect(gone.map { $0.properties["id"] } == ["bad"])
        #expect(gone.first?.properties["error"] == "500")
        #expect(sent() == ["good 1-aa"])
        #expect(client.session.takeRefusals().map(\.id) == ["bad"])
        #expect(client.session.status.state == .idle)
    }

    @Test("answers may be short, have nulls, or refuse; and an answer of the client to a revision is its own affair")
    func answers() throws {
        for number in 0..<5 { try database.insert("d-\(number)", "1-aa") }
        client.answer = {
            switch $0.properties["Profile"] {
            case "changes": ([:], Array("[null,[],409]".utf8))
            default: (["Error-Domain": "LiteCore", "Error-Code": "8"], [])
            }
        }
        try subscribe(["continuous": "true"])
        #expect(sent() == ["d-1 1-aa"])
        #expect(client.session.takeRefusals().map(\.id).sorted() == ["d-1", "d-2"])
        #expect(client.session.status.state == .idle)
        #expect(client.session.ended == nil)
    }

    @Test(
        "a client that cannot take a document says so in any code, and gets the others; a node can say that it cannot now",
        arguments: [
            ("HTTP", 500, true), ("HTTP", 503, true), ("LiteCore", 503, false), ("SQLite", 1555, false),
            ("HTTP", 422, false),
        ])
    func clientErrors(domain: String, code: Int, endsLinkOfNode: Bool) throws {
        for number in 0..<3 { try database.insert("d-\(number)", "1-aa") }
        for isNode in [false, true] {
            let peer = try Stranger(database, peerIsKith: isNode)
            peer.answer = { request in
                switch request.properties["Profile"] {
                case "changes": ([:], Array("[[],[],[]]".utf8))
                case "rev" where request.properties["id"] == "d-1":
                    (["Error-Domain": domain, "Error-Code": String(code)], [])
                default: ([:], [])
                }
            }
            try peer.ask("subChanges", ["continuous": "true"])
            if isNode, endsLinkOfNode {
                #expect(peer.session.ended?.closeCode == 4001)
                #expect(peer.session.takeRefusals().isEmpty)
            } else {
                #expect(peer.session.ended == nil)
                #expect(peer.takeRequests("rev").count == 3)
                #expect(peer.session.status.revisionsSent == 2)
                #expect(peer.session.status.toSend == 0)
                let refusals = peer.session.takeRefusals()
                #expect(refusals.map(\.id) == ["d-1"])
                #expect(refusals.first?.code == code)
            }
        }
    }

    @Test("a history ends with the ancestor that the client has, within the length that it takes")
    func histories() throws {
        let history = (1...59).reversed().map { "\($0)-aa" }
        try database.insert("long", "60-aa", history: history)
        for (known, maxHistory, expected) in [
            (#"["58-aa"]"#, "50", "59-aa,58-aa"), ("[]", "3", "59-aa,58-aa"), (#"["5-aa"]"#, "4", "59-aa,58-aa,5-aa"),
        ] {
            let client = try Stranger(database)
            client.answer = {
                $0.properties["Profile"] == "changes"
                    ? (["maxHistory": maxHistory], Array("[\(known)]".utf8)) : ([:], [])
            }
            try client.ask("subChanges")
            #expect(client.takeRequests("rev").first?.properties["history"] == expected)
        }
    }
}
