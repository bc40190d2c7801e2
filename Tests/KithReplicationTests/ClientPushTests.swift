import KithDocuments
import KithReplication
import KithStore
import KithWire
import Testing

@Suite("What a Couchbase Lite client pushes")
struct ClientPushTests {
    private let database: Database
    private let client: Stranger

    init() throws {
        database = try SessionPair.database()
        client = try Stranger(database)
    }

    private func propose(_ body: String, namesWinner: Bool = true) throws -> BLIPMessage? {
        try client.ask("proposeChanges", namesWinner ? ["conflictIncludesRev": "true"] : [:], body)
    }

    @Test("one-shot push, step by step, and the same once more from the checkpoint")
    func oneShot() throws {
        #expect(try client.ask("getCheckpoint", ["client": "cp-a"])?.errorName == "HTTP/404")
        let answer = try propose("[[\"doc-1\",\"1-aa00\",\"\"],[\"doc-2\",\"2-bb00\"]]")
        #expect(answer?.text == "[0,0]")
        #expect(answer?.properties["maxHistory"] == "1000")
        #expect(answer?.properties["blobs"] == nil)
        #expect(answer?.properties["deltas"] == nil)
        let first = try client.ask(
            "rev", ["id": "doc-1", "rev": "1-aa00", "sequence": "1", "noconflicts": "1"], "{\"name\":\"Ada\"}")
        #expect(first?.kind == .response)
        let second = try client.ask(
            "rev", ["id": "doc-2", "rev": "2-bb00", "history": "1-bb", "sequence": "2", "noconflicts": "1"], "{}")
        #expect(second?.kind == .response)
        #expect(try client.ask("proposeChanges", [:], "[]", isNoReply: true) == nil)
        let saved = try client.ask("setCheckpoint", ["client": "cp-a", "rev": ""], "{\"time\":1,\"local\":2}")
        #expect(saved?.properties["rev"] == "1-cc")
        #expect(client.session.status.state == .idle)
        #expect(client.session.status.toReceive == 0)
        #expect(try database.winner("doc-1") == "1-aa00 {\"name\":\"Ada\"}")

        let again = try Stranger(database)
        let checkpoint = try again.ask("getCheckpoint", ["client": "cp-a"])
        #expect(checkpoint?.text == "{\"time\":1,\"local\":2}")
        #expect(checkpoint?.properties["rev"] == "1-cc")
        #expect(try again.ask("setCheckpoint", ["client": "cp-a", "rev": "9-cc"], "{}")?.errorName == "HTTP/409")
        // What was sent and not acknowledged comes again: it is there.
        #expect(try again.ask("proposeChanges", [:], "[[\"doc-2\",\"2-bb00\",\"1-bb\"]]")?.text == "[304]")
        #expect(client.requests.isEmpty)
    }

    @Test("a client whose push has many gaps keeps a large checkpoint here, but not one without bounds")
    func largeCheckpoint() throws {
        func body(gaps: Int) -> String {
            "{\"local\":0,\"localCompleted\":[\((0..<gaps).map { "\($0 * 2),1" }.joined(separator: ","))]}"
        }
        let large = body(gaps: 20_000)
        #expect(large.utf8.count > 100_000)
        let saved = try client.ask("setCheckpoint", ["client": "cp-a", "rev": ""], large)
        #expect(saved?.properties["rev"] == "1-cc")
        #expect(try client.ask("getCheckpoint", ["client": "cp-a"])?.text == large)
        let tooLarge = try client.ask("setCheckpoint", ["client": "cp-a", "rev": "1-cc"], body(gaps: 60_000))
        #expect(tooLarge?.errorName == "HTTP/400")
        #expect(client.session.ended == nil)
    }

    @Test("a client has so many checkpoints; a new one takes the place of the one that it has not written for longest")
    func manyCheckpoints() throws {
        var limits = ReplicationLimits()
        limits.checkpointsOfPeerMax = 3
        limits.checkpointsMax = 4
        let client = try Stranger(database, limits: limits)
        func save(_ name: String, _ revision: String = "", by peer: Stranger? = nil) throws -> String? {
            let answer = try (peer ?? client).ask("setCheckpoint", ["client": name, "rev": revision], "{\"local\":1}")
            return answer?.errorName ?? answer?.properties["rev"]
        }
        func kept() throws -> [String] {
            try ["a", "b", "c", "d", "e", "node", "other"].filter {
                try client.ask("getCheckpoint", ["client": $0])?.error == nil
            }
        }
        let node = try Stranger(database, peerIsKith: true, progressName: "progress/node", limits: limits)
        #expect(try save("node", by: node) == "1-cc")
        for name in ["a", "b", "c"] { #expect(try save(name) == "1-cc") }
        #expect(try save("a", "1-cc") == "2-cc")
        #expect(try save("d") == "1-cc")
        #expect(try kept() == ["a", "c", "d", "node"])
        // One that is gone has no revision any more, and begins anew.
        #expect(try save("b", "1-cc") == "HTTP/409")
        #expect(try save("b") == "1-cc")
        #expect(try kept() == ["a", "b", "d", "node"])
        // There is no room for that of another one, which has none to give; what others have is not taken away.
        let other = try Stranger(database, progressName: "progress/other", limits: limits)
        #expect(try save("other", by: other) == "HTTP/413")
        #expect(try kept() == ["a", "b", "d", "node"])
        #expect(try save("node", "1-cc", by: node) == "2-cc")
        #expect(client.session.ended == nil)
    }

    @Test("a proposal is wanted, known, or a conflict that names the current revision")
    func proposals() throws {
        try database.insert("live", "3-cc", history: ["2-bb", "1-aa"])
        try database.insert("gone", "2-bb", history: ["1-aa"], isDeleted: true)
        let list = """
            [["new","1-aa"],["new-with-parent","2-bb","1-aa"],["live","3-cc"],["live","2-bb","1-aa"],\
            ["live","4-dd","3-cc"],["live","4-dd","2-bb"],["live","1-ff"],["live","4-dd",null,12],\
            ["gone","1-ff",""],["gone","3-cc","2-bb",70],["gone","2-cc","1-aa"]]
            """
        func object(_ revision: String) -> String { "{\"status\":409,\"rev\":\"\(revision)\"}" }
        let live = object("3-cc")
        #expect(try propose(list)?.text == "[0,0,304,304,0,\(live),\(live),\(live),0,0,\(object("2-bb"))]")
        #expect(try propose(list, namesWinner: false)?.text == "[0,0,304,304,0,409,409,409,0,0,409]")
        #expect(client.session.takeRefusals().isEmpty)
        #expect(client.session.status.state != .idle)
    }

    @Test("an illegal ID is refused by itself, and what is no list is an error")
    func illegal() throws {
        let long = String(repeating: "x", count: 241)
        let list =
            "[[\"ok\",\"1-aa\"],[\"_design\",\"1-aa\"],[\"\(long)\",\"1-aa\"],[\"ok\",\"nonsense\"],[\"ok\",\"1-aa\",\"5@x\"]]"
        #expect(try propose(list)?.text == "[0,400,400,400,400]")
        #expect(client.session.takeRefusals().count == 4)
        for wrong in ["{}", "[1]", "[[\"a\"]]", "[[1,\"1-aa\"]]", "nonsense"] {
            #expect(try propose(wrong)?.errorName == "HTTP/400")
        }
        #expect(try propose("[]")?.kind == .response)
        #expect(client.session.ended == nil)
    }

    @Test("a conflict that arises between the proposal and the revision is refused where it is stored")
    func race() throws {
        try database.insert("stock", "1-aa")
        #expect(try propose("[[\"stock\",\"2-bb\",\"1-aa\"]]")?.text == "[0]")
        try database.insert("stock", "2-cc", history: ["1-aa"])
        let properties = ["id": "stock", "rev": "2-bb", "history": "1-aa", "sequence": "1"]
        let answer = try client.ask("rev", properties.merging(["noconflicts": "1"]) { $1 }, "{\"n\":2}")
        #expect(answer?.errorName == "HTTP/409")
        #expect(try database.leaves("stock") == ["2-cc"])
        // It is the client's to resolve, and no refused document.
        #expect(client.session.takeRefusals().isEmpty)
        // Its resolution descends from what is here.
        #expect(try propose("[[\"stock\",\"3-dd\",\"2-cc\"]]")?.text == "[0]")
        let merged = try client.ask(
            "rev", ["id": "stock", "rev": "3-dd", "history": "2-cc, 1-aa", "sequence": "2", "noconflicts": "1"], "{}")
        #expect(merged?.kind == .response)
        #expect(try database.leaves("stock") == ["3-dd"])
        // Without the property a branch is a branch, as between Kith nodes.
        #expect(try client.ask("rev", properties, "{\"n\":2}")?.kind == .response)
        #expect(try database.leaves("stock") == ["3-dd", "2-bb"])
    }

    @Test("what makes no conflict where it is stored is taken", arguments: [true, false])
    func taken(isDeleted: Bool) throws {
        func send(_ id: String, _ revision: String, _ history: String, isDeleted: Bool = false) throws -> String? {
            var properties = ["id": id, "rev": revision, "history": history, "sequence": "1", "noconflicts": "true"]
            if isDeleted { properties["deleted"] = "1" }
            return try client.ask("rev", properties, "{}").map { $0.errorName ?? "ok" }
        }
        // A document that is not here, with whatever history.
        #expect(try send("new", "7-aa", "6-bb,3-cc") == "ok")
        // The same again.
        #expect(try send("new", "7-aa", "6-bb,3-cc") == "ok")
        // Over a tombstone, anew or as its child.
        try database.insert("gone", "2-bb", history: ["1-aa"], isDeleted: true)
        #expect(try send("gone", "1-ff", "") == "ok")
        #expect(try database.winner("gone") == "1-ff {}")
        // A branch of a conflict that other nodes made may be ended, not gone on with.
        try database.insert("both", "2-cc", history: ["1-aa"])
        try database.insert("both", "2-bb", history: ["1-aa"])
        #expect(try send("both", "3-dd", "2-bb,1-aa", isDeleted: isDeleted) == (isDeleted ? "ok" : "HTTP/409"))
        #expect(try send("both", "3-ee", "1-aa", isDeleted: true) == "HTTP/409")
        #expect(try database.findFaults().isEmpty)
    }

    @Test("blobs inside a document are named in _attachments, fetched before the answer, and kept with the document")
    func blobs() throws {
        let blob = "{\"@type\":\"blob\",\"digest\":\"sha1-qvTGHdzF6KLavt4PO0gs2a6pQ00=\",\"length\":5}"
        let stub = "{\"digest\":\"sha1-qvTGHdzF6KLavt4PO0gs2a6pQ00=\",\"length\":5,\"revpos\":1,\"stub\":true}"
        client.answer = { _ in ([:], Array("hello".utf8)) }
        let answer = try client.ask(
            "rev", ["id": "photo", "rev": "1-aa", "sequence": "1", "noconflicts": "1"],
            "{\"photo\":\(blob),\"_attachments\":{\"blob_/photo\":\(stub)}}")
        #expect(answer?.kind == .response)
        let asked = client.takeRequests("getAttachment")
        #expect(asked.map { $0.properties["docID"] } == ["photo"])
        #expect(try database.winner("photo")?.contains("\"@type\":\"blob\"") == true)

        // Another client gets both forms, and the bytes while its `rev` is open.
        let other = try Stranger(database)
        other.answer = { $0.properties["Profile"] == "changes" ? ([:], Array("[[]]".utf8)) : nil }
        try other.ask("subChanges", ["batch": "200"])
        let sent = try #require(other.takeRequests("rev").first)
        #expect(sent.text.contains("\"blob_/photo\":{") && sent.text.contains(blob.dropFirst().prefix(30)))
        let bytes = try other.ask(
            "getAttachment", ["digest": "sha1-qvTGHdzF6KLavt4PO0gs2a6pQ00=", "docID": "photo", "compress": "true"])
        #expect(bytes?.text == "hello")
        // A client of the older protocol does not say of which document it is.
        let older = try other.ask("getAttachment", ["digest": "sha1-qvTGHdzF6KLavt4PO0gs2a6pQ00="])
        #expect(older?.text == "hello")
    }

    @Test("a delta that nobody asked for is declined so that the whole revision follows, and an error is no revision")
    func deltas() throws {
        try database.insert("doc", "1-aa")
        let delta = try client.ask(
            "rev", ["id": "doc", "rev": "2-bb", "history": "1-aa", "deltaSrc": "1-aa", "sequence": "1"], "{\"n\":1}")
        #expect(delta?.errorName == "HTTP/422")
        let whole = try client.ask(
            "rev", ["id": "doc", "rev": "2-bb", "history": "1-aa", "noconflicts": "1", "sequence": "1"], "{\"n\":1}")
        #expect(whole?.kind == .response)
        let nothing = try client.ask("rev", ["id": "doc", "rev": "3-cc", "error": "404", "sequence": "2"], "{}")
        #expect(nothing?.kind == .response)
        #expect(try database.winner("doc") == "2-bb {\"n\":1}")
    }

    @Test("what is unknown is answered as Couchbase Lite expects it")
    func unknown() throws {
        for profile in ["getRev", "putRev", "unsubChanges", "function", ""] {
            let answer = try client.ask(profile)
            #expect(answer?.errorName == "BLIP/404")
            #expect(answer?.text == "no handler for message")
        }
        #expect(client.session.ended == nil)
    }
}
