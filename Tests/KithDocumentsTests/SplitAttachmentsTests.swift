import KithDocuments
import Testing

@Suite("A document as it comes in replication")
struct SplitAttachmentsTests {
    private static let stub = #"{"digest":"sha1-qvTGHdzF6KLavt4PO0gs2a6pQ00=","length":5,"stub":true}"#

    private func split(_ text: String) throws -> (body: String, attachments: AttachmentList) {
        let (body, attachments) = try CanonicalJSON.splitAttachments(Array(text.utf8))
        return (String(decoding: body, as: UTF8.self), attachments)
    }

    @Test("the attachments are taken out, wherever they stand, and the rest is made canonical")
    func takenOut() throws {
        for text in [
            #"{"_attachments":{"a.txt":\#(Self.stub)},"b":1, "a":2}"#,
            #"{"b":1,"_attachments":{"a.txt":\#(Self.stub)},"a":2}"#,
            #"{"b":1,"a":2,"\u005fattachments":{"a.txt":\#(Self.stub)}}"#,
        ] {
            let (body, attachments) = try split(text)
            #expect(body == #"{"a":2,"b":1}"#)
            #expect(attachments.map(\.name) == ["a.txt"])
            #expect(attachments.first?.length == 5)
        }
        let (body, attachments) = try split(#"{"x":{"_attachments":1}}"#)
        #expect(body == #"{"x":{"_attachments":1}}"#)
        #expect(attachments.isEmpty)
    }

    @Test(
        "what is no stub, and any other reserved name, is refused",
        arguments: [
            #"{"_attachments":{"a":{"data":"aGVsbG8="}}}"#, #"{"_attachments":{"a":{"stub":true}}}"#,
            #"{"_attachments":[]}"#, #"{"_id":"a"}"#, #"{"_deleted":false}"#, #"{"_attachments":{},"_rev":"1-a"}"#,
        ])
    func refused(text: String) {
        #expect { try split(text) } throws: { ($0 as? KithError)?.code == .badDocument }
    }
}
