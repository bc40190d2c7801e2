import KithDocuments
import KithStore
import KithWire
import Testing

@testable import KithReplication

@Suite("attachments between the CouchDB replicator and scripted answers")
struct CouchDBAttachmentTests {
    static let revision = "1-" + String(repeating: "c", count: 32)

    /// A server whose document has one attachment, which is asked for in its own request.
    static func server(_ request: CouchDBRequest) -> (status: Int, body: String)? {
        if request.path.hasPrefix("/_changes") {
            return (
                200,
                #"{"results":[{"seq":"1-x","id":"doc","changes":[{"rev":"\#(revision)"}]}],"last_seq":"1-x","pending":0}"#
            )
        }
        if request.path.hasPrefix("/_bulk_get") {
            return (
                200,
                """
                {"results":[{"id":"doc","docs":[{"ok":{"_id":"doc","_rev":"\(revision)","_attachments":
                {"a":{"stub":true,"content_type":"text/plain","digest":"md5-XUFAKrxLKna5cZ2REBfFkg==","length":5,"revpos":1}}}}]}]}
                """
            )
        }
        if request.path.hasPrefix("/doc?") { return nil }
        return CouchDBServerScript.empty(request)
    }

    /// The answer to the request for the document, with these bytes for the attachment, which are said to be "hello".
    static func answer(_ bytes: String, md5: String = "XUFAKrxLKna5cZ2REBfFkg==") -> [UInt8] {
        Array(
            """
            --out\r\nContent-Type: multipart/related; boundary="in"\r\n\r\n--in\r\nContent-Type: application/json\r\n\r\n\
            {"_id":"doc","_rev":"\(revision)","v":1,"_attachments":{"a":{"follows":true,"content_type":"text/plain",\
            "digest":"md5-\(md5)","length":5,"revpos":1}}}\
            \r\n--in\r\nContent-Disposition: attachment; filename="a"\r\n\r\n\(bytes)\r\n--in--\r\n--out--
            """.utf8)
    }

    private func start() throws -> (CouchDBServerScript, UInt64) {
        let script = try CouchDBServerScript(.receive, answer: Self.server)
        script.run()
        return (script, try #require(script.open.first?.number))
    }

    private func give(_ bytes: [UInt8], in step: Int, to number: UInt64, _ script: CouchDBServerScript) {
        script.machine.receiveHead(
            number, status: 200, headers: ["Content-Type": "multipart/mixed; boundary=\"out\""], now: script.now)
        script.settle()
        for start in stride(from: 0, to: bytes.count, by: step) {
            script.machine.receiveBody(number, Array(bytes[start..<min(start + step, bytes.count)]), now: script.now)
            script.settle()
        }
    }

    @Test("an attachment is stored whole however its bytes come", arguments: [1, 7, 10_000])
    func receives(step: Int) throws {
        let (script, number) = try start()
        let bytes = Self.answer("hello")
        let before = script.consumed
        give(bytes, in: step, to: number, script)
        script.machine.receiveEnd(number, now: script.now)
        script.settle()
        #expect(script.isCompleted)
        #expect(script.consumed - before >= bytes.count)
        let id = try DocumentID("doc")
        let document = try #require(try script.database.read { try $0.document(id) })
        #expect(document.attachments["a"]?.length == 5)
        #expect(document.attachments["a"]?.digest.description == "sha1-qvTGHdzF6KLavt4PO0gs2a6pQ00=")
        #expect(document.revision.description == Self.revision)
    }

    @Test("wrong bytes are a refusal of their document, and the checkpoint passes it")
    func wrongBytes() throws {
        for bytes in ["hellO", "hell", "hello world"] {
            let (script, number) = try start()
            give(Self.answer(bytes), in: 64, to: number, script)
            script.machine.receiveEnd(number, now: script.now)
            script.settle()
            #expect(script.isCompleted)
            let refused = try script.database.read { try $0.refusals(limit: 9) }
            #expect(refused.map(\.key.id) == ["doc"])
            #expect(try script.local("kith-receive")?["source_last_seq"] == "1-x")
            #expect(try script.database.read { try $0.documentCount } == 0)
        }
    }

    @Test("an answer that is always cut off refuses its document, and ends nothing else")
    func cutOff() throws {
        let (script, _) = try start()
        for _ in 0..<3 {
            let number = try #require(script.open.first?.number)
            give(Array(Self.answer("hello").prefix(200)), in: 50, to: number, script)
            script.cut(number)
        }
        #expect(script.isCompleted)
        #expect(try script.database.read { try $0.refusals(limit: 9) }.count == 1)
        // Before the head has come, the server is what is wrong.
        let (other, number) = try start()
        other.cut(number)
        #expect(other.failure?.mayHelp == true)
    }

    @Test("a server that knows no parts answers with the attachment in the document")
    func receivesInline() throws {
        let (script, number) = try start()
        script.reply(
            number, 200,
            """
            [{"ok":{"_id":"doc","_rev":"\(Self.revision)","v":1,"_attachments":{"a":{"content_type":"text/plain",\
            "digest":"md5-XUFAKrxLKna5cZ2REBfFkg==","data":"aGVsbG8=","revpos":1}}}}]
            """, ["Content-Type": "application/json"])
        script.settle()
        #expect(script.isCompleted)
        let id = try DocumentID("doc")
        let document = try #require(try script.database.read { try $0.document(id) })
        #expect(document.attachments["a"]?.digest.description == "sha1-qvTGHdzF6KLavt4PO0gs2a6pQ00=")
    }

    @Test("a document is sent with what the server lacks, in as many bytes as were said")
    func sends() throws {
        let script = try CouchDBServerScript(.send) { request in
            if request.path.hasPrefix("/_revs_diff"), case .bytes(let body) = request.body {
                let revisions = (try? JSONValue(parsing: body))?["doc"] ?? []
                return (
                    200,
                    String(
                        decoding: JSONValue(object: [("doc", JSONValue(object: [("missing", revisions)]))])
                            .canonicalBytes(), as: UTF8.self)
                )
            }
            return request.method == "PUT" && request.path.hasPrefix("/doc?") ? nil : CouchDBServerScript.empty(request)
        }
        let id = try DocumentID("doc")
        let content = [UInt8](repeating: 120, count: 300_000)
        try script.database.writeBlocking { transaction in
            let blob = try transaction.addBlob(content)
            let attachment = try DocumentAttachment(name: "ä", digest: blob.digest, length: blob.length, revpos: 1)
            _ = try transaction.put(
                id, body: Array(#"{"v":1}"#.utf8), parent: nil, attachments: AttachmentList([attachment]))
        }
        script.run()
        let open = try #require(script.open.first)
        guard case .stream(let length) = open.request.body else {
            Issue.record("the document is not sent as a stream")
            return
        }
        while !script.isBodyWhole {
            script.machine.wantsBody(open.number, now: script.now)
            script.settle()
        }
        #expect(UInt64(script.body.count) == length)
        #expect(script.largestPiece <= 128 << 10)
        var parser = try MultipartParser(boundary: "kith-b-s1")
        parser.receive(script.body)
        var parts: [[UInt8]] = []
        while let event = try parser.nextEvent(), event != .end {
            if case .part = event { parts.append([]) }
            if case .body(let bytes) = event { parts[parts.count - 1] += bytes }
        }
        #expect(parts.count == 2)
        #expect(try JSONValue(parsing: parts[0])["_attachments"]?["ä"]?["follows"] == true)
        #expect(parts[1] == content)
        script.reply(open.number, 201, "{}")
        script.settle()
        #expect(script.isCompleted)
        #expect(script.machine.status.revisionsSent == 1)
    }
}
