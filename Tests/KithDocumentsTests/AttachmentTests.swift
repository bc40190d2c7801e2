import KithDocuments
import Testing

@Suite("Attachments as metadata")
struct AttachmentTests {
    static let digestText = "sha1-AAECAwQFBgcICQoLDA0ODxAREhM="

    private func digest(_ byte: UInt8) throws -> AttachmentDigest {
        try AttachmentDigest(bytes: [UInt8](repeating: byte, count: 20))
    }

    private func entries(_ text: String) throws -> [IncomingAttachment] {
        try IncomingAttachment.list(JSONValue(parsing: text))
    }

    private func list(_ text: String) throws -> AttachmentList {
        try AttachmentList(canonical: CanonicalJSON.canonicalize(Array(text.utf8)))
    }

    @Test("a digest has one spelling")
    func digests() throws {
        let digest = try AttachmentDigest(parsing: Self.digestText)
        #expect(digest.bytes == Array(0..<20))
        #expect(digest.description == Self.digestText)
        #expect(try AttachmentDigest(bytes: UInt8(0)..<20) == digest)
        var random = SeededGenerator(seed: 1)
        for _ in 0..<1_000 {
            let bytes = (0..<20).map { _ in UInt8.random(in: 0...255, using: &random) }
            let one = try AttachmentDigest(bytes: bytes)
            #expect(try AttachmentDigest(parsing: one.description).bytes == bytes)
            #expect((one < digest) == bytes.lexicographicallyPrecedes(digest.bytes))
        }
    }

    @Test(
        "what is no digest is refused",
        arguments: [
            "", "sha1-", "sha1", "md5-AAECAwQFBgcICQoLDA0ODw==", "SHA1-AAECAwQFBgcICQoLDA0ODxAREhM=",
            "sha1-AAECAwQFBgcICQoLDA0ODxAREhN=",  // bits that are not used
            "sha1-AAECAwQFBgcICQoLDA0ODxAREhM", "sha1-AAECAwQFBgcICQoLDA0ODxAREhMU",
            "sha1-AAECAwQFBgcICQoLDA0ODxARE===",
            "sha1-AAECAwQFBgcICQoLDA0ODxAREg==", "sha1-AAECAwQFBgcICQoLDA0ODxAREh_=",
            "sha1-AAEC=wQFBgcICQoLDA0ODxAREhM=",
            "sha1-AAECAwQFBgcICQoLDA0ODxAREhM= ", "sha1-000102030405060708090a0b0c0d0e0f10111213",
        ])
    func noDigest(text: String) {
        expectRefusal(.badDocument) { try AttachmentDigest(parsing: text) }
        expectRefusal(.badDocument) { try AttachmentDigest(bytes: Array(text.utf8.prefix(19))) }
    }

    @Test("a list is read, looked up and written again, with every entry as a stub")
    func roundTrip() throws {
        let text = """
            {"a/b":{"content_type":"text/plain; charset=utf-8","digest":"\(Self.digestText)","length":0,"stub":true},\
            "e\u{301}":{"content_type":"image/png","digest":"\(Self.digestText)","encoding":"gzip","length":7,\
            "revpos":3,"stub":true},\
            "\u{E9}":{"content_type":"application/octet-stream","digest":"sha1-//////////////////////////8=",\
            "length":1099511627769,"revpos":1,"stub":true}}
            """
        let attachments = try list(text)
        #expect(String(decoding: attachments.canonicalBytes(), as: UTF8.self) == text)
        #expect(attachments.count == 3)
        #expect(attachments["a/b"]?.contentType == "text/plain; charset=utf-8")
        #expect(attachments["e\u{301}"]?.encoding == "gzip")
        #expect(attachments["\u{E9}"]?.length == 1_099_511_627_769)
        #expect(attachments["e"]?.name == nil && attachments[""]?.name == nil && attachments["\u{EA}"]?.name == nil)
        #expect(attachments.digests == [try AttachmentDigest(parsing: Self.digestText), try digest(0xFF)])
        #expect(try AttachmentList(attachments.reversed()) == attachments)
        #expect(try list("{}") == AttachmentList())
        #expect(AttachmentList().canonicalBytes() == Array("{}".utf8))
        // Without a type, and with members that say nothing about the content.
        let plain = try list(#"{"x":{"digest":"\#(Self.digestText)","length":1,"stub":true,"ver":2,"follows":false}}"#)
        #expect(plain["x"]?.contentType == DocumentAttachment.defaultContentType)
    }

    @Test("bytes come in the document, behind it, or are known")
    func forms() throws {
        let all = try entries(
            """
            {"b":{"data":"b25l","content_type":"text/plain","digest":"md5-AAECAwQFBgcICQoLDA0ODw==","revpos":2},
             "a":{"stub":true},"c":{"follows":true,"length":5,"content_type":"x/y","encoding":"gzip","encoded_length":4},
             "d":{"data":""}}
            """)
        #expect(all.map(\.name) == ["a", "b", "c", "d"])
        #expect(all.map(\.content) == [.stub, .inline(Array("one".utf8)), .follows, .inline([])])
        #expect(all.map(\.length) == [nil, 3, 5, 0])
        #expect(all[1].digest == nil && all[1].revpos == 2 && all[1].contentType == "text/plain")

        let attachment = try all[1].resolved(digest: digest(1), length: 3, revpos: 9)
        #expect(attachment.revpos == 2 && attachment.contentType == "text/plain")
        let other = try all[0].resolved(digest: digest(1), length: 3, revpos: 9, contentType: "a/b")
        #expect(other.revpos == 9 && other.contentType == "a/b")
        #expect(try all[2].resolved(digest: digest(1), length: 5).encoding == "gzip")
        expectRefusal(.badDocument) { try all[2].resolved(digest: digest(1), length: 6) }
        let told = try entries(#"{"a":{"stub":true,"digest":"\#(Self.digestText)"}}"#)[0]
        expectRefusal(.badDocument) { try told.resolved(digest: digest(1), length: 6) }
    }

    @Test("base64 of every length is read, in its one spelling only")
    func base64() throws {
        let texts: [(String, String)] = [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"), ("\u{FF}\u{3E}?", "w78+Pw=="),
        ]
        for (plain, text) in texts {
            #expect(try entries(#"{"a":{"data":"\#(text)"}}"#)[0].content == .inline(Array(plain.utf8)))
        }
        for text in [
            "Zg", "Zg=", "Zh==", "Zm9=", "Zm8", "Z===", "====", "Zg==Zg==", "Zm 9v", "Zm9v\\n", "Zm-_", "Zm9vY",
        ] {
            expectRefusal(.badDocument) { try entries(#"{"a":{"data":"\#(text)"}}"#) }
        }
    }

    @Test(
        "entries that are refused",
        arguments: [
            "[]", "null", #"{"a":1}"#, #"{"a":{}}"#, #"{"a":{"stub":false}}"#, #"{"a":{"stub":1}}"#,
            #"{"a":{"data":5}}"#, #"{"a":{"data":"b25l","stub":true}}"#, #"{"a":{"follows":true,"stub":true}}"#,
            #"{"a":{"data":"b25l","length":4}}"#, #"{"a":{"stub":true,"length":-1}}"#,
            #"{"a":{"stub":true,"length":1.5}}"#, #"{"a":{"stub":true,"length":"1"}}"#,
            #"{"a":{"stub":true,"revpos":0}}"#, #"{"a":{"stub":true,"revpos":4294967296}}"#,
            #"{"a":{"stub":true,"digest":7}}"#, #"{"a":{"stub":true,"digest":"sha2-AAECAwQFBgcICQoLDA0ODw=="}}"#,
            #"{"a":{"stub":true,"content_type":""}}"#, #"{"a":{"stub":true,"content_type":"text/plain\r\nX: y"}}"#,
            #"{"a":{"stub":true,"content_type":"text/é"}}"#, #"{"a":{"stub":true,"encoding":null}}"#,
            #"{"a":{"stub":true,"encoding":"a\u0000"}}"#, #"{"a":{"stub":true,"lenght":1}}"#,
            #"{"a":{"stub":true,"length":1099511627777}}"#, #"{"a":{"stub":true,"length":18446744073709551616}}"#,
        ])
    func refused(text: String) {
        expectRefusal(.badDocument) { try entries(text) }
    }

    @Test("the digests of CouchDB say nothing here, so their bytes are looked for by name")
    func foreignDigest() throws {
        let entry = #"{"a":{"stub":true,"digest":"md5-AAECAwQFBgcICQoLDA0ODw=="}}"#
        #expect(try entries(entry).first?.digest == nil)
    }

    @Test("the lengths that are claimed are added without overflow")
    func total() throws {
        let entry = #"{"digest":"\#(Self.digestText)","length":1099511627776,"stub":true}"#
        #expect(try list(#"{"a":\#(entry)}"#).count == 1)
        expectRefusal(.tooLarge) { try list(#"{"a":\#(entry),"b":\#(entry)}"#) }
        let largest = try DocumentAttachment(name: "a", digest: digest(1), length: DocumentLimits.attachmentsBytesMax)
        let other = try DocumentAttachment(name: "b", digest: digest(1), length: 1)
        expectRefusal(.tooLarge) { try AttachmentList([largest, other]) }
        expectRefusal(.tooLarge) { try DocumentAttachment(name: "a", digest: digest(1), length: .max) }
    }

    @Test("in a list that is kept every entry has its digest and its length")
    func incomplete() {
        for entry in [
            #"{"stub":true,"length":1}"#, #"{"stub":true,"digest":"\#(Self.digestText)"}"#, #"{"data":"b25l"}"#,
            #"{"follows":true,"digest":"\#(Self.digestText)","length":1}"#,
        ] {
            expectRefusal(.badDocument) { try list(#"{"a":\#(entry)}"#) }
        }
    }

    @Test("names: slashes, plus signs and any letters are data; NUL and a leading _ are refused")
    func names() throws {
        let longest = String(repeating: "é", count: DocumentLimits.attachmentNameBytesMax / 2)
        for name in [
            "a", "dir/file.txt", "plus+sign.pdf", "plus%2Bsign.pdf", "файл.bin", " ", ".", "a_", "\n", longest,
        ] {
            #expect(try DocumentAttachment(name: name, digest: digest(1), length: 1).name.utf8.elementsEqual(name.utf8))
            var object = JSONObject()
            object[name] = ["stub": true]
            #expect(try IncomingAttachment.list(.object(object)).map(\.name) == [name])
        }
        for name in ["", "_", "_a", "a\0b", "\0", longest + "x"] {
            expectRefusal(.badName) { try DocumentAttachment(name: name, digest: digest(1), length: 1) }
            var object = JSONObject()
            object[name] = ["stub": true]
            expectRefusal(.badName) { try IncomingAttachment.list(.object(object)) }
        }
    }

    @Test("one name twice, and too many")
    func lists() throws {
        let one = try DocumentAttachment(name: "a", digest: digest(1), length: 1)
        expectRefusal(.badDocument) { try AttachmentList([one, one]) }
        var object = JSONObject()
        for index in 0..<DocumentLimits.attachmentsMax {
            object["\(index)"] = ["stub": true, "length": 1, "digest": .string(Self.digestText)]
        }
        let full = JSONValue.object(object).canonicalBytes()
        #expect(try AttachmentList(canonical: full).canonicalBytes().count > full.count)
        object["x"] = ["stub": true]
        expectRefusal(.badDocument) { try IncomingAttachment.list(.object(object)) }
        let many = try (0...DocumentLimits.attachmentsMax).map {
            try DocumentAttachment(name: "\($0)", digest: digest(1), length: 1)
        }
        expectRefusal(.badDocument) { try AttachmentList(many) }
        #expect(try AttachmentList(many.dropLast()).count == DocumentLimits.attachmentsMax)
    }

    @Test("a revision depends on name, type, encoding and bytes of its attachments, and on nothing else of them")
    func revisionDigest() throws {
        func input(_ attachments: [DocumentAttachment]) throws -> [UInt8] {
            RevisionDigest.input(
                parent: nil, deleted: false, canonicalBody: Array("{}".utf8),
                attachments: try AttachmentList(attachments))
        }
        func attachment(
            _ name: String, _ byte: UInt8, type: String = "text/plain", length: UInt64 = 3, revpos: UInt64? = nil,
            encoding: String? = nil
        ) throws -> DocumentAttachment {
            try DocumentAttachment(
                name: name, digest: digest(byte), length: length, contentType: type, revpos: revpos,
                encoding: encoding)
        }
        let one = try attachment("f.txt", 1)
        let different: [[DocumentAttachment]] = try [
            [], [one], [attachment("f.txt", 2)], [attachment("g.txt", 1)], [attachment("f.txt", 1, type: "text/html")],
            [attachment("f.txt", 1, encoding: "gzip")], [attachment("f", 1, type: ".txttext/plain")],
            [one, attachment("g.txt", 1)], [one, attachment("g.txt", 2)],
            [attachment("f.txt", 1, type: "text/plain4gzip")],
        ]
        #expect(Set(try different.map(input)).count == different.count)
        #expect(try input([attachment("f.txt", 1, length: 4, revpos: 7)]) == input([one]))
        let two = try attachment("e.txt", 9)
        #expect(try input([one, two]) == input([two, one]))

        #expect(RevisionDigest.suffix(attachments: AttachmentList()) == [])
        let packed = try attachment("é", 5, type: "a/b", encoding: "gz")
        let expected: [UInt8] =
            [0, 0, 2, 0xC3, 0xA9, 0, 3] + Array("a/b".utf8) + [2] + Array("gz".utf8)
            + [UInt8](repeating: 5, count: 20)
        #expect(RevisionDigest.suffix(attachments: try AttachmentList([packed])) == expected)
        let long = try attachment(String(repeating: "n", count: 0x0304), 5)
        #expect(RevisionDigest.suffix(attachments: try AttachmentList([long])).prefix(3) == [0, 3, 4])
    }
}
