import KithDocuments
import KithStore
import Testing

@testable import KithNode

@Suite("REST")
struct RESTTests {
    @Test("a branch with a gap is shown without one, and an attachment's length is known before it is read")
    func gap() throws {
        let database = try Database(path: ":memory:", name: DatabaseName("db"), create: true)
        defer { database.close() }
        let id = try DocumentID("a")
        let revision = try RevisionID(parsing: "5-ee")
        let ancestor = try RevisionID(parsing: "2-bb")
        let bytes = [UInt8](repeating: 7, count: 1_000)
        try database.writeBlocking { transaction in
            let blob = try transaction.addBlob(bytes)
            let attachment = try DocumentAttachment(name: "x", digest: blob.digest, length: blob.length)
            try transaction.insert(
                IncomingRevision(
                    id: id, revision: revision, history: [ancestor], body: Array("{}".utf8),
                    attachments: AttachmentList([attachment])))
        }
        var view = DocumentView()
        view.showsHistory = true
        view.attachments = .inline
        let content = try database.read { [view] snapshot in
            let document = try #require(try snapshot.document(id))
            return try view.content(document, snapshot)
        }
        var text: [UInt8] = []
        for segment in content.all {
            switch segment {
            case .bytes(let some): text += some
            case .base64: text += Base64.text(of: bytes)
            case .blob: Issue.record("an attachment is not within the document")
            }
        }
        #expect(UInt64(text.count) == content.byteCount)
        let value = try JSONValue(parsing: text)
        let fillers = [4, 3].map { JSONValue.string(revision.filler(at: $0).digest) }
        #expect(value["_revisions"]?["ids"] == .array([.string("ee")] + fillers + [.string("bb")]))
        #expect(value["_attachments"]?["x"]?["data"]?.stringValue == Base64.encode(bytes))
    }

    @Test(
        "values are in CouchDB's order",
        arguments: [
            ["null", "false", "true", "-1e300", "-1", "0", "0.5", "9007199254740993", "12345678901234567890", "1e300"],
            ["1e300", "\"\"", "\"a\"", "\"aa\"", "\"b\"", "[]", "[1]", "[1,1]", "[2]", "{}", "{\"a\":1}", "{\"b\":0}"],
        ])
    func collation(texts: [String]) throws {
        let values = try texts.map { try JSONValue(parsing: $0) }
        for (place, one) in values.enumerated() {
            for (otherPlace, other) in values.enumerated() {
                let order = JSONCollation.order(one, other)
                #expect(order.signum() == (place - otherPlace).signum(), "\(texts[place]) \(texts[otherPlace])")
            }
        }
    }
}
