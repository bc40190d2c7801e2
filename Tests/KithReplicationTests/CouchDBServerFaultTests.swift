import KithDocuments
import KithStore
import KithWire
import Testing

@testable import KithReplication

@Suite("the CouchDB replicator and servers that say strange things")
struct CouchDBServerFaultTests {
    private static func changes(_ rows: String, last: String = "\"9-x\"", pending: String? = "0") -> (Int, String) {
        (200, "{\"results\":[\(rows)],\"last_seq\":\(last)" + (pending.map { ",\"pending\":\($0)" } ?? "") + "}")
    }

    private static func digits(_ letter: Character) -> String { String(repeating: letter, count: 32) }

    /// A server that names one revision and answers for it what it is told to; by `GET`, since it has no `_bulk_get`.
    private static func server(
        _ request: CouchDBRequest, _ document: (status: Int, body: String)
    ) -> (status: Int, body: String)? {
        if request.path.hasPrefix("/_changes") {
            return changes(#"{"seq":"9-x","id":"a/b","changes":[{"rev":"1-\#(digits("a"))"}]}"#)
        }
        if request.path.hasPrefix("/_bulk_get") { return (404, "{}") }
        if request.path.hasPrefix("/a%2Fb") { return document }
        return CouchDBServerScript.empty(request)
    }

    private func refusals(_ script: CouchDBServerScript) throws -> [DocumentRefusal] {
        try script.database.read { try $0.refusals(limit: 9) }
    }

    @Test(
        "a revision that the server names and has not got is asked for once more, and forgotten when it is missing again"
    )
    func missing() throws {
        let missing = (200, #"[{"missing":"1-\#(Self.digits("a"))"}]"#)
        let first = try CouchDBServerScript(.receive) { Self.server($0, missing) }
        first.run()
        #expect(first.isCompleted)
        #expect(try refusals(first).map(\.key.id) == ["a/b"])
        let name = RevisionName(
            id: try DocumentID("a/b"), revision: try RevisionID(parsing: "1-" + Self.digits("a")))
        var queries: [String] = []
        func again(_ answer: (Int, String)) throws -> CouchDBServerScript {
            let script = try CouchDBServerScript(
                .receive, database: first.database, session: "s2",
                change: { $0.refusedBefore = [.init(name: name, isOutgoing: false)] }
            ) { request in
                if request.path.hasPrefix("/_changes") { return Self.changes("") }
                if request.path.hasPrefix("/a%2Fb") { queries.append(request.path) }
                return Self.server(request, answer)
            }
            script.run()
            return script
        }
        #expect(try again(missing).isCompleted)
        #expect(try refusals(first) == [])
        #expect(queries.count == 1 && queries[0].contains("open_revs=all"), "all leaves are asked for")
    }

    @Test("what was refused and is there now is stored with its other leaves, whatever took its place")
    func there() throws {
        let name = RevisionName(
            id: try DocumentID("a/b"), revision: try RevisionID(parsing: "1-" + Self.digits("a")))
        let leaves = ["b", "c"].map { letter in
            #"{"ok":{"_id":"a/b","_rev":"2-\#(Self.digits(Character(letter)))","_revisions":{"start":2,"ids":["\#(Self.digits(Character(letter)))","\#(Self.digits("a"))"]}}}"#
        }
        let script = try CouchDBServerScript(
            .receive, change: { $0.refusedBefore = [.init(name: name, isOutgoing: false)] }
        ) { request in
            if request.path.hasPrefix("/_changes") { return Self.changes("") }
            return Self.server(request, (200, "[\(leaves.joined(separator: ","))]"))
        }
        let refusal = CouchDBRefusal.incoming("a/b", name.revision.description, KithError(.badDocument, "before"))
        let record = refusal.record(peer: "http://couch/notes", wallSeconds: 1)
        try script.database.writeBlocking { try $0.noteRefusals([record]) }
        script.run()
        #expect(script.isCompleted)
        let tree = try script.database.read { try $0.revisionTree(DocumentID("a/b")) }
        #expect(tree?.leaves.count == 2)
        #expect(try refusals(script) == [])
    }

    @Test(
        "a 404 that is not CouchDB's refuses the document; one about the database ends the session without a checkpoint"
    )
    func notFound() throws {
        let proxy = try CouchDBServerScript(.receive) { Self.server($0, (404, "<html>Not Found</html>")) }
        proxy.run()
        #expect(proxy.isCompleted)
        #expect(try refusals(proxy).map(\.key.id) == ["a/b"])
        let gone = try CouchDBServerScript(.receive) {
            Self.server($0, (404, #"{"error":"not_found","reason":"Database does not exist."}"#))
        }
        gone.run()
        #expect(gone.failure?.error.code == .databaseNotFound)
        #expect(try refusals(gone) == [])
        #expect(!gone.asked.contains("PUT /_local/kith-receive"))
    }

    @Test("a target that was made anew during a session does not get the position of the one before")
    func madeAnew() throws {
        let session = "s0"
        let checkpoint =
            #"{"_id":"_local/kith-send","_rev":"0-7","session_id":"\#(session)","source_last_seq":0,"history":[]}"#
        var puts = 0
        let script = try CouchDBServerScript(.send) { request in
            guard request.path.hasPrefix("/_local/") else { return CouchDBServerScript.empty(request) }
            if request.method == "PUT" {
                puts += 1
                return (409, #"{"error":"conflict"}"#)
            }
            return puts == 0 ? (200, checkpoint) : (404, #"{"error":"not_found","reason":"missing"}"#)
        }
        let id = try DocumentID("a")
        try script.database.writeBlocking { _ = try $0.put(id, body: Array("{}".utf8), parent: nil) }
        script.run()
        #expect(script.failure?.mayHelp == true)
        #expect(puts == 1)
        #expect(try script.local("kith-send") == nil)
    }

    @Test("an error of _bulk_docs that names no document is found by sending one by one")
    func unassigned() throws {
        var counts: [Int] = []
        let script = try CouchDBServerScript(.send) { request in
            if request.path.hasPrefix("/_revs_diff"), case .bytes(let body) = request.body {
                let asked = (try? JSONValue(parsing: body))?.objectValue ?? [:]
                let missing = asked.map { ($0, JSONValue(object: [("missing", $1)])) }
                return (200, JSONValue(object: missing).canonicalText())
            }
            guard request.path.hasPrefix("/_bulk_docs"), case .bytes(let body) = request.body else {
                return CouchDBServerScript.empty(request)
            }
            let docs = (try? JSONValue(parsing: body))?["docs"]?.arrayValue ?? []
            counts.append(docs.count)
            let isBad = docs.contains { $0["_id"] == "b" }
            return (201, isBad ? #"[{"error":"strange"}]"# : "[]")
        }
        for name in ["a", "b", "c"] {
            let id = try DocumentID(name)
            try script.database.writeBlocking { _ = try $0.put(id, body: Array("{}".utf8), parent: nil) }
        }
        script.run()
        #expect(script.isCompleted)
        #expect(counts == [3, 1, 1, 1])
        #expect(script.machine.status.revisionsSent == 2)
        #expect(try refusals(script).map(\.key.id) == ["b"])
    }

    @Test(
        "without a word of what is pending, a short answer is not the end; of two leaves one bad name refuses itself alone"
    )
    func shortAnswers() throws {
        let good = Self.digits("a")
        let script = try CouchDBServerScript(.receive) { request in
            if request.path.contains("since=0") {
                return Self.changes(
                    #"{"seq":1,"id":"x","changes":[{"rev":"nonsense"},{"rev":"1-\#(good)"}]}"#, last: "1", pending: nil)
            }
            if request.path.contains("since=1") {
                return Self.changes(
                    #"{"seq":2,"id":"y","changes":[{"rev":"1-\#(good)"}]}"#, last: "2", pending: nil)
            }
            if request.path.hasPrefix("/_changes") { return Self.changes("", last: "2", pending: nil) }
            if request.path.hasPrefix("/_bulk_get"), case .bytes(let body) = request.body {
                let docs = (try? JSONValue(parsing: body))?["docs"]?.arrayValue ?? []
                let results = docs.map { doc in
                    let id = doc["id"]?.stringValue ?? ""
                    return #"{"id":"\#(id)","docs":[{"ok":{"_id":"\#(id)","_rev":"1-\#(good)"}}]}"#
                }
                return (200, "{\"results\":[\(results.joined(separator: ","))]}")
            }
            return CouchDBServerScript.empty(request)
        }
        script.run()
        #expect(script.isCompleted)
        #expect(script.machine.status.revisionsReceived == 2)
        #expect(try refusals(script).map(\.key.id) == ["x"])
    }

    @Test("a long request has the time that it takes on a slow line")
    func slowLine() throws {
        let script = try CouchDBServerScript(.receive) { _ in nil }
        script.run()
        let exchange = script.machine.send(
            CouchDBRequest("POST", "/_bulk_docs", json: [UInt8](repeating: 32, count: 16 << 20))
        ) { _ in }
        #expect(exchange.silentSeconds == 60 + 1_024)
    }

    @Test("a server that sends a byte now and then is given up, and one that waits for changes is not")
    func trickle() throws {
        let script = try CouchDBServerScript(.receive) {
            $0.path.hasPrefix("/_changes") ? nil : CouchDBServerScript.empty($0)
        }
        script.run()
        let number = try #require(script.open.first?.number)
        script.machine.receiveHead(number, status: 200, headers: HTTPHeaders(), now: script.now)
        for _ in 0..<20 {
            script.now.monotonicSeconds += 50
            script.machine.receiveBody(number, [32], now: script.now)
            script.machine.tick(now: script.now)
            script.settle()
        }
        #expect(script.failure?.error.code == .timedOut)
        let waiting = script.machine.send(CouchDBRequest("GET", "/_changes"), isEndless: true) { _ in }
        #expect(waiting.silentSeconds == 710)
    }

    /// Sessions one after the other, each with what those before have failed with; the last one.
    private func sessions(
        _ directions: ReplicationDirections, max: Int, prepare: (Database) throws -> Void,
        _ answer: @escaping (CouchDBRequest) -> (status: Int, body: String)?
    ) throws -> (count: Int, CouchDBServerScript) {
        var failures: [CouchDBConfiguration.RefusedRevision: Int] = [:]
        var script = try CouchDBServerScript(directions, change: { $0.failuresBefore = failures }, answer: answer)
        try prepare(script.database)
        for count in 1...max {
            script.run()
            while let open = script.open.first { script.cut(open.number) }
            if script.isCompleted { return (count, script) }
            for suspect in script.machine.suspects { failures[suspect, default: 0] += 1 }
            script = try CouchDBServerScript(
                directions, database: script.database, session: "s\(count + 1)",
                change: { $0.failuresBefore = failures }, answer: answer)
        }
        return (max, script)
    }

    @Test(
        "a document on which the server always fails is refused in the third session, and stops no other",
        arguments: [500, 0])
    func alwaysFails(_ status: Int) throws {
        let good = Self.digits("a")
        // Status 0: no answer at all.
        let (count, script) = try sessions(.receive, max: 5, prepare: { _ in }) { request in
            if request.path.hasPrefix("/_changes") {
                let rows = ["x", "y", "z"].map { id in
                    #"{"seq":"9-\#(id)","id":"\#(id)","changes":[{"rev":"1-\#(good)"}]}"#
                }
                return Self.changes(rows.joined(separator: ","))
            }
            if request.path.hasPrefix("/_bulk_get") || request.path.hasPrefix("/x") {
                return status == 0 ? nil : (status, "{}")
            }
            for id in ["y", "z"] where request.path.hasPrefix("/\(id)?") {
                return (200, #"[{"ok":{"_id":"\#(id)","_rev":"1-\#(good)"}}]"#)
            }
            return CouchDBServerScript.empty(request)
        }
        #expect(script.isCompleted)
        #expect(count == 3)
        #expect(try refusals(script).map(\.key.id) == ["x"])
        for id in ["y", "z"] {
            let tree = try script.database.read { try $0.revisionTree(DocumentID(id)) }
            #expect(tree?.leaves.count == 1)
        }
    }

    @Test(
        "a document with which every request to the server is cut off is refused in the third session, and stops no other"
    )
    func alwaysCut() throws {
        var taken: Set<String> = []
        let (count, script) = try sessions(
            .send, max: 5,
            prepare: { database in
                for name in ["a", "b", "c"] {
                    let id = try DocumentID(name)
                    try database.writeBlocking { _ = try $0.put(id, body: Array("{}".utf8), parent: nil) }
                }
            },
            { request in
                guard case .bytes(let body) = request.body, let value = try? JSONValue(parsing: body) else {
                    return CouchDBServerScript.empty(request)
                }
                if request.path.hasPrefix("/_revs_diff") {
                    let asked: [(String, JSONValue)] = (value.objectValue ?? [:]).map { ($0, $1) }
                    let missing = asked.filter { !taken.contains($0.0) }
                        .map { ($0, JSONValue(object: [("missing", $1)])) }
                    return (200, JSONValue(object: missing).canonicalText())
                }
                guard request.path.hasPrefix("/_bulk_docs") else { return CouchDBServerScript.empty(request) }
                let ids = (value["docs"]?.arrayValue ?? []).compactMap { $0["_id"]?.stringValue }
                guard !ids.contains("b") else { return nil }
                taken.formUnion(ids)
                return (201, "[]")
            })
        #expect(script.isCompleted)
        #expect(count == 3)
        #expect(taken == ["a", "c"])
        #expect(try refusals(script).map(\.key.id) == ["b"])
    }

    @Test("a session that fails while the store writes counts what is written")
    func endsWhileWriting() throws {
        let good = Self.digits("a")
        let script = try CouchDBServerScript(.receive) { request in
            if request.path.hasPrefix("/_changes") {
                let rows = ["x", "y"].map { id in #"{"seq":"9-\#(id)","id":"\#(id)","changes":[{"rev":"1-\#(good)"}]}"#
                }
                return Self.changes(rows.joined(separator: ","))
            }
            if request.path.hasPrefix("/_bulk_get") { return (404, "{}") }
            if request.path.hasPrefix("/y") { return nil }
            guard request.path.hasPrefix("/x") else { return CouchDBServerScript.empty(request) }
            return (200, #"[{"ok":{"_id":"x","_rev":"1-\#(good)"}}]"#)
        }
        script.holdsInserts = true
        script.run()
        let open = try #require(script.open.first { $0.request.path.hasPrefix("/y") })
        script.cut(open.number)
        #expect(script.machine.ended == nil)
        script.releaseInserts()
        #expect(script.failure?.error.code == .connectionLost)
        #expect(script.machine.status.revisionsReceived == 1)
    }

    @Test("a checkpoint stays behind refusals that found no room in the book of them")
    func manyRefusals() throws {
        let script = try CouchDBServerScript(.send, change: { $0.limits.refusalsNotedMax = 2 }) { request in
            guard case .bytes(let body) = request.body, let value = try? JSONValue(parsing: body) else {
                return CouchDBServerScript.empty(request)
            }
            if request.path.hasPrefix("/_revs_diff") {
                let missing = (value.objectValue ?? [:]).map { ($0, JSONValue(object: [("missing", $1)])) }
                return (200, JSONValue(object: missing).canonicalText())
            }
            guard request.path.hasPrefix("/_bulk_docs") else { return CouchDBServerScript.empty(request) }
            let answers = (value["docs"]?.arrayValue ?? []).map { doc in
                JSONValue(object: [("id", doc["_id"] ?? .null), ("rev", doc["_rev"] ?? .null), ("error", "forbidden")])
            }
            return (201, JSONValue.array(answers).canonicalText())
        }
        for name in ["a", "b", "c", "d"] {
            let id = try DocumentID(name)
            try script.database.writeBlocking { _ = try $0.put(id, body: Array("{}".utf8), parent: nil) }
        }
        script.run()
        #expect(script.isCompleted)
        #expect(try refusals(script).count == 2)
        #expect(script.machine.status.refusals == 4)
        #expect(try script.local("kith-send") == nil)
    }
}
