import KithDocuments
import KithReplication
import KithStore
import KithWire
import Testing

@Suite("Requests that the peer never answers")
struct UnansweredTests {
    private let database: Database

    init() throws { database = try SessionPair.database() }

    /// A peer that wants everything and answers what a test lets it.
    private func peer(isKith: Bool = false, answering answers: @escaping (BLIPMessage) -> Bool) throws -> Stranger {
        let peer = try Stranger(database, peerIsKith: isKith)
        peer.answer = { request in
            guard answers(request) else { return nil }
            guard request.properties["Profile"] == "changes" else { return ([:], []) }
            let count = (try? JSONValue(parsing: request.body))?.arrayValue?.count ?? 0
            return ([:], Array(("[" + Array(repeating: "[]", count: count).joined(separator: ",") + "]").utf8))
        }
        try peer.ask("subChanges", ["continuous": "true"])
        return peer
    }

    private func isRevision(_ request: BLIPMessage, of ids: String...) -> Bool {
        request.properties["Profile"] == "rev" && ids.contains(request.properties["id"] ?? "")
    }

    private func sent(to peer: Stranger) -> [String] {
        peer.takeRequests("rev").map { "\($0.properties["id"] ?? "") \($0.properties["rev"] ?? "")" }
    }

    @Test(
        "a document that a client never answers is recorded, and those behind it go on; its answer counts when it comes"
    )
    func oneDocument() throws {
        for id in ["a", "b", "c"] { try database.insert(id, "1-aa") }
        var silent: BLIPMessage?
        let client = try peer { request in
            guard isRevision(request, of: "b") else { return true }
            silent = silent ?? request
            return request.properties["rev"] != "1-aa"
        }
        #expect(sent(to: client) == ["a 1-aa", "b 1-aa", "c 1-aa"])
        // Behind a newer revision of the document nothing is announced as long as the older one is under way.
        try database.insert("b", "2-bb", history: ["1-aa"])
        try database.insert("d", "1-aa")
        try client.noteChange()
        try client.pass(seconds: 30, times: 10)
        #expect(sent(to: client) == [])
        #expect(client.session.takeRefusals().isEmpty)
        #expect(client.session.status.state == .busy)
        try client.pass(seconds: 30)
        let refusals = client.session.takeRefusals()
        #expect(refusals.map(\.id) == ["b"])
        #expect(refusals.map(\.code) == [504])
        #expect(refusals.map(\.side) == [.peer])
        #expect(sent(to: client) == ["b 2-bb", "d 1-aa"])
        #expect(client.session.status.state == .idle)
        #expect(client.session.status.toSend == 0)
        _ = client.session.takeAcceptances()
        let revisionsSent = client.session.status.revisionsSent
        try client.answer(late: #require(silent))
        #expect(client.session.takeAcceptances().map { $0.name.revision.description } == ["1-aa"])
        #expect(client.session.status.revisionsSent == revisionsSent + 1)
        #expect(client.session.ended == nil)
    }

    @Test("a client that answers no document at all ends the link, and nothing counts as done")
    func allDocuments() throws {
        for number in 0...100 { try database.insert("d-\(number)", "1-aa") }
        let client = try peer { $0.properties["Profile"] != "rev" }
        try client.pass(seconds: 30, times: 10)
        #expect(client.session.ended == nil)
        try client.pass(seconds: 30)
        #expect(client.session.ended?.closeCode == 4001)
        #expect(client.session.takeRefusals().isEmpty)
        #expect(client.session.status.sentThrough[.default] ?? 0 == 0)
    }

    @Test("a list of changes that is never answered ends the link", arguments: [false, true])
    func list(isKith: Bool) throws {
        try database.insert("a", "1-aa")
        let peer = try peer(isKith: isKith) { $0.properties["Profile"] != "changes" }
        try peer.pass(seconds: 30, times: 11)
        #expect(peer.session.ended?.closeCode == 4001)
        #expect(peer.session.ended?.code == .timedOut)
    }

    @Test("a Kith node that does not answer a document ends the link: that says nothing about the document")
    func kithNode() throws {
        try database.insert("a", "1-aa")
        let node = try peer(isKith: true) { $0.properties["Profile"] != "rev" }
        // The answer to the list came after it was sent.
        try node.pass(seconds: 30, times: 11)
        #expect(node.session.ended == nil)
        try node.pass(seconds: 30)
        #expect(node.session.ended?.closeCode == 4001)
        #expect(node.session.takeRefusals().isEmpty)
    }

    @Test("a machine that was asleep for a day does not take that for the silence of its peer")
    func asleep() throws {
        try database.insert("a", "1-aa")
        let client = try peer { $0.properties["Profile"] != "rev" }
        try client.pass(seconds: 86_400, times: 10)
        #expect(client.session.takeRefusals().isEmpty)
        try client.pass(seconds: 30)
        #expect(client.session.takeRefusals().map(\.id) == ["a"])
    }

    @Test("a client that fetches an attachment takes as long as it needs")
    func attachment() throws {
        let bytes = Array("a picture".utf8)
        try database.writeBlocking { transaction in
            let blob = try transaction.addBlob(bytes)
            let attachment = try DocumentAttachment(
                name: "file", digest: blob.digest, length: blob.length, contentType: "image/png", revpos: 1)
            try transaction.put(
                DocumentID("a"), body: Array("{}".utf8), parent: nil, attachments: AttachmentList([attachment]))
        }
        let digest = try database.read {
            try $0.document(DocumentID("a"))?.attachments["file"]?.digest.description ?? ""
        }
        let client = try peer { $0.properties["Profile"] != "rev" }
        for _ in 0..<4 {
            try client.pass(seconds: 30, times: 9)
            #expect(try client.ask("getAttachment", ["digest": digest])?.body == bytes)
        }
        #expect(client.session.takeRefusals().isEmpty)
        try client.pass(seconds: 30, times: 12)
        #expect(client.session.takeRefusals().map(\.id) == ["a"])
        // It may still come for it.
        #expect(try client.ask("getAttachment", ["digest": digest])?.body == bytes)
    }

    @Test("what is answered in time leaves nothing to wake up for")
    func answered() throws {
        try database.insert("a", "1-aa")
        let client = try peer { _ in true }
        try client.pass(seconds: 30, times: 2)
        #expect(client.session.nextDeadlineSeconds == nil)
        #expect(client.session.status.state == .idle)
    }
}
