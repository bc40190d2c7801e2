import KithDocuments
import KithStore
import KithWire
import Testing

@testable import KithReplication

@Suite("the CouchDB replicator against scripted answers")
struct CouchDBReplicatorTests {
    static let theirs = "2-" + String(repeating: "b", count: 32)

    /// A server with one document of two generations, and one that nobody can keep.
    static func withDocuments(_ request: CouchDBRequest) -> (status: Int, body: String)? {
        if request.path.hasPrefix("/_changes") {
            guard request.path.contains("since=0&") || request.path.hasSuffix("since=0") else {
                return (200, #"{"results":[],"last_seq":"9-opaque","pending":0}"#)
            }
            return (
                200,
                """
                {"results":[{"seq":"5-x","id":"doc","changes":[{"rev":"\(theirs)"}]},
                {"seq":"6-x","id":"_bad","changes":[{"rev":"1-a"}]},{"seq":7,"nonsense":true}],
                "last_seq":"9-opaque","pending":0}
                """
            )
        }
        if request.path.hasPrefix("/_bulk_get") {
            let first = String(repeating: "a", count: 32)
            return (
                200,
                """
                {"results":[{"id":"doc","docs":[{"ok":{"_id":"doc","_rev":"\(theirs)","v":2,
                "_revisions":{"start":2,"ids":["\(theirs.dropFirst(2))","\(first)"]}}}]}]}
                """
            )
        }
        return CouchDBServerScript.empty(request)
    }

    @Test("a document comes with its revision and history as they are, and what cannot be kept stops nothing")
    func receives() throws {
        let script = try CouchDBServerScript(.receive, answer: Self.withDocuments)
        script.run()
        #expect(script.isCompleted)
        let id = try DocumentID("doc")
        let document = try script.database.read { try $0.document(id) }
        #expect(document?.revision.description == Self.theirs)
        let history = try script.database.read { try $0.history(id, RevisionID(parsing: Self.theirs)) }
        #expect(history?.map(\.description) == ["1-" + String(repeating: "a", count: 32)])
        let refused = try script.database.read { try $0.refusals(limit: 9) }
        #expect(Set(refused.map(\.key.id)) == ["_bad", ""])
        #expect(refused.allSatisfy { $0.key.peer == "http://couch/notes" })
        #expect(script.machine.status.revisionsReceived == 1)
        #expect(try script.local("kith-receive")?["source_last_seq"] == "9-opaque")
        #expect(script.asked.last == "PUT /_local/kith-receive")
    }

    @Test("the next session begins where both checkpoints say, and looks at no document")
    func resumes() throws {
        let first = try CouchDBServerScript(.receive, answer: Self.withDocuments)
        first.run()
        let checkpoint = String(decoding: try #require(try first.local("kith-receive")).canonicalBytes(), as: UTF8.self)
        let second = try CouchDBServerScript(.receive, database: first.database, session: "s2") { request in
            if request.path.hasPrefix("/_local/"), request.method == "GET" {
                return (200, checkpoint.replacingFirst("{", #"{"_id":"_local/x","_rev":"0-1","#))
            }
            return Self.withDocuments(request)
        }
        second.run()
        #expect(second.isCompleted)
        #expect(!second.asked.contains { $0.contains("_bulk_get") })
        // A server that was restored from a backup does not know the session: from the beginning.
        let third = try CouchDBServerScript(
            .receive, database: first.database, session: "s3", answer: Self.withDocuments)
        third.run()
        #expect(third.isCompleted)
        #expect(third.machine.missingChecked == 1)
    }

    @Test("nothing is claimed before the server has made it durable, and 413 is followed by smaller requests")
    func sends() throws {
        var posted: [String] = []
        let script = try CouchDBServerScript(.send) { request in
            if request.path.hasPrefix("/_revs_diff"), case .bytes(let body) = request.body {
                let value = try? JSONValue(parsing: body)
                let missing = (value?.objectValue ?? JSONObject()).map { name, revisions in
                    (name, JSONValue(object: [("missing", revisions)]))
                }
                return (200, String(decoding: JSONValue(object: missing).canonicalBytes(), as: UTF8.self))
            }
            if request.path.hasPrefix("/_bulk_docs"), case .bytes(let body) = request.body {
                let docs = (try? JSONValue(parsing: body))?["docs"]?.arrayValue ?? []
                if docs.count > 1 { return (413, #"{"error":"too_large"}"#) }
                posted += docs.compactMap { $0["_id"]?.stringValue }
                let refuses = docs.first?["_id"] == "b"
                return (201, refuses ? #"[{"id":"b","error":"forbidden","reason":"no"}]"# : "[]")
            }
            return CouchDBServerScript.empty(request)
        }
        for name in ["a", "b", "c"] {
            let id = try DocumentID(name)
            try script.database.writeBlocking { _ = try $0.put(id, body: Array("{}".utf8), parent: nil) }
        }
        script.run()
        #expect(script.isCompleted)
        #expect(posted == ["a", "b", "c"])
        #expect(script.machine.status.revisionsSent == 2)
        let commit = try #require(script.asked.lastIndex(of: "POST /_ensure_full_commit"))
        let saved = try #require(script.asked.lastIndex(of: "PUT /_local/kith-send"))
        #expect(commit < saved)
        #expect(try script.local("kith-send")?["source_last_seq"] == 3)
        let refused = try script.database.read { try $0.refusals(limit: 9) }
        #expect(refused.map(\.key.id) == ["b"])
        #expect(refused.first?.code == 403)
    }

    @Test("a server that began anew meanwhile gets no checkpoint")
    func startedAnew() throws {
        let script = try CouchDBServerScript(.send) { request in
            request.path.hasPrefix("/_ensure_full_commit")
                ? (201, #"{"ok":true,"instance_start_time":"1"}"#) : CouchDBServerScript.empty(request)
        }
        let id = try DocumentID("a")
        try script.database.writeBlocking { _ = try $0.put(id, body: Array("{}".utf8), parent: nil) }
        script.run()
        #expect(script.failure?.mayHelp == true)
        #expect(!script.asked.contains("PUT /_local/kith-send"))
    }

    @Test("who answers that it is busy says when to come back, and who is silent is given up")
    func failures() throws {
        let busy = try CouchDBServerScript(.receive) { _ in nil }
        busy.run()
        let number = try #require(busy.open.first?.number)
        busy.reply(number, 429, #"{"error":"slow"}"#, ["Retry-After": "7"])
        #expect(busy.failure?.retryAfter == 7)
        #expect(busy.failure?.mayHelp == true)
        let silent = try CouchDBServerScript(.receive) { _ in nil }
        silent.run()
        #expect(silent.machine.deadlineSeconds == 60)
        silent.now.monotonicSeconds = 61
        silent.machine.tick(now: silent.now)
        #expect(silent.failure?.error.code == .timedOut)
        let wrong = try CouchDBServerScript(.receive) { _ in (401, #"{"error":"unauthorized"}"#) }
        wrong.run()
        #expect(wrong.failure?.mayHelp == false)
        let noJSON = try CouchDBServerScript(.receive) { _ in (200, "<html>") }
        noJSON.run()
        #expect(noJSON.failure?.error.code == .protocolViolation)
    }

    @Test("who follows waits for changes, and leaves a server alone that does not wait")
    func follows() throws {
        let script = try CouchDBServerScript([.receive, .send], isContinuous: true, answer: CouchDBServerScript.empty)
        script.run()
        #expect(script.machine.ended == nil)
        #expect(script.machine.status.state == .idle)
        // The first is answered at once and empty, and the next one waits.
        let rest = try #require(script.machine.deadlineSeconds)
        #expect(rest <= 1)
        #expect(script.open.isEmpty)
        script.answer = { request in
            request.path.contains("feed=longpoll") ? nil : CouchDBServerScript.empty(request)
        }
        script.now.monotonicSeconds = rest
        script.machine.tick(now: script.now)
        script.settle()
        #expect(script.open.count == 1)
        let id = try DocumentID("a")
        try script.database.writeBlocking { _ = try $0.put(id, body: Array("{}".utf8), parent: nil) }
        let before = script.asked.count
        script.machine.noteChange(now: script.now)
        script.settle()
        #expect(script.asked[before...].contains("POST /_revs_diff"))
        #expect(script.machine.status.state == .idle)
    }

    @Test("an answer that is too long is cut off and asked for in parts")
    func tooLong() throws {
        var shapes: [String] = []
        let script = try CouchDBServerScript(.receive, change: { $0.limits.answerBytesMax = 1_000 }) { request in
            if request.path.hasPrefix("/_bulk_get") {
                shapes.append("bulk")
                return (200, #"{"results":["# + String(repeating: " ", count: 2_000) + "]}")
            }
            if request.path.hasPrefix("/doc?") {
                shapes.append("single")
                return (
                    200, #"[{"ok":{"_id":"doc","_rev":"\#(Self.theirs)","v":1}}]"#
                )
            }
            return Self.withDocuments(request)
        }
        script.run()
        #expect(script.isCompleted)
        #expect(shapes == ["bulk", "single"])
        #expect(script.machine.status.revisionsReceived == 1)
    }

    @Test("waits grow from one second to two minutes, with jitter, and end when something went well")
    func backoff() {
        var backoff = CouchDBBackoff()
        let waits = (0..<10).map { _ in backoff.failed(retryAfterSeconds: nil, random: 0) }
        #expect(waits.first == 1)
        #expect(waits.last == 60)
        let longest = backoff.failed(retryAfterSeconds: nil, random: 1)
        #expect(longest == 120)
        let asked = backoff.failed(retryAfterSeconds: 300, random: 0)
        #expect(asked == 300)
        let absurd = backoff.failed(retryAfterSeconds: 1e9, random: 0)
        #expect(absurd == 600)
        backoff.succeeded()
        let first = backoff.failed(retryAfterSeconds: nil, random: 0)
        #expect(first == 1)
    }

    @Test("checkpoints agree where the newest session of both stopped")
    func checkpoints() throws {
        func checkpoint(_ text: String) throws -> CouchDBCheckpoint? { CouchDBCheckpoint(try JSONValue(parsing: text)) }
        let one = try checkpoint(
            #"{"session_id":"c","source_last_seq":"30","history":[{"session_id":"c","recorded_seq":"30"},{"session_id":"a","recorded_seq":"10"}]}"#
        )
        let other = try checkpoint(
            #"{"session_id":"b","source_last_seq":"20","history":[{"session_id":"b","recorded_seq":"20"},{"session_id":"a","recorded_seq":"10"}]}"#
        )
        #expect(CouchDBCheckpoint.common(one, one) == "30")
        #expect(CouchDBCheckpoint.common(one, other) == "10")
        #expect(CouchDBCheckpoint.common(one, nil) == nil)
        let early = try checkpoint(
            #"{"session_id":"c","source_last_seq":5,"history":[{"session_id":"c","recorded_seq":5}]}"#)
        let late = try checkpoint(
            #"{"session_id":"c","source_last_seq":9,"history":[{"session_id":"c","recorded_seq":9}]}"#)
        #expect(CouchDBCheckpoint.common(late, early) == 5)
        #expect(try checkpoint(#"{"v":1}"#) == nil)
    }
}

extension String {
    fileprivate func replacingFirst(_ text: String, _ other: String) -> String {
        guard hasPrefix(text) else { return self }
        return other + dropFirst(text.count)
    }
}
