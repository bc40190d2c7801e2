import KithDocuments
import KithReplication
import KithStore
import KithWire
import Testing

@Suite("Attachments of a peer that does not do as it should, and what is given out to it")
struct AttachmentRefusalTests {
    /// The digest of "hello".
    private static let digest = "sha1-qvTGHdzF6KLavt4PO0gs2a6pQ00="

    private func body(_ digest: String = digest, length: Int = 5) -> [UInt8] {
        Array(
            "{\"n\":1,\"_attachments\":{\"a\":{\"digest\":\"\(digest)\",\"length\":\(length),\"stub\":true,\"revpos\":1}}}"
                .utf8)
    }

    private func sendRevision(_ stranger: Stranger, _ id: String, _ body: [UInt8], tag: UInt64) {
        stranger.send(["Profile": "rev", "id": id, "rev": "1-aa", "sequence": "\(tag)"], body, tag: tag)
    }

    @Test(
        "a revision whose attachment cannot be had is refused by name, and the others go on",
        arguments: [
            ("hellO", "", "", 400), ("hell", "", "", 400), ("", "", "", 400), ("hello!", "", "", 400),
            (String(repeating: "x", count: 500_000), "", "", 400), ("", "HTTP", "404", 404), ("", "HTTP", "403", 404),
            ("", "LiteCore", "7", 404), ("", "HTTP", "500", 404), ("", "HTTP", "410", 410),
        ])
    func refused(text: String, domain: String, code: String, expected: Int) throws {
        let database = try SessionPair.database()
        let stranger = try Stranger(database)
        stranger.answer = { request in
            guard request.properties["Profile"] == "getAttachment" else { return ([:], []) }
            return code.isEmpty ? ([:], Array(text.utf8)) : (["Error-Domain": domain, "Error-Code": code], [])
        }
        sendRevision(stranger, "bad", body(), tag: 1)
        sendRevision(stranger, "bad-too", body(), tag: 2)
        sendRevision(stranger, "good", Array("{}".utf8), tag: 3)
        try stranger.run()
        #expect(stranger.session.ended == nil)
        #expect(stranger.replies[1]?.error?.code == expected)
        #expect(stranger.replies[2]?.error?.code == expected)
        #expect(stranger.replies[3]?.kind == .response)
        let refusals = stranger.session.takeRefusals()
        #expect(refusals.map(\.id) == (expected == 410 ? [] : ["bad", "bad-too"]))
        #expect(
            refusals.allSatisfy {
                $0.code == expected && $0.reason.contains(Self.digest) || $0.reason.contains("announced")
            })
        #expect(stranger.session.blobBytesHeld == 0)
        // Nothing of it stays, and it can come again when it is right.
        #expect(try database.digestDocuments() == 1)
        try database.doHousekeeping()
        #expect(try database.read { try $0.blob(AttachmentDigest(parsing: Self.digest)) } == nil)
        stranger.answer = { _ in ([:], Array("hello".utf8)) }
        sendRevision(stranger, "bad", body(), tag: 4)
        try stranger.run()
        #expect(stranger.replies[4]?.kind == .response)
        #expect(stranger.replies[4]?.error == nil)
    }

    @Test("two documents that claim different lengths of one digest: the one that is right is stored")
    func lengths() throws {
        let database = try SessionPair.database()
        let stranger = try Stranger(database)
        stranger.answer = { _ in ([:], Array("hello".utf8)) }
        sendRevision(stranger, "wrong", body(length: 7), tag: 1)
        sendRevision(stranger, "right", body(), tag: 2)
        try stranger.run()
        // Also where the bytes are stored already.
        sendRevision(stranger, "wrong-later", body(length: 4), tag: 3)
        try stranger.run()
        #expect(stranger.replies[1]?.error?.code == 400)
        #expect(stranger.replies[2]?.kind == .response)
        #expect(stranger.replies[3]?.error?.code == 400)
        #expect(stranger.requests.allSatisfy { $0.properties["docID"] != nil })
    }

    @Test("a revision is not answered before its attachment is stored")
    func answeredLast() throws {
        let database = try SessionPair.database()
        let stranger = try Stranger(database)
        stranger.answer = { _ in nil }
        sendRevision(stranger, "waits", body(), tag: 1)
        try stranger.run()
        #expect(stranger.requests.map { $0.properties["Profile"] } == ["getAttachment"])
        #expect(stranger.replies[1] == nil)
        #expect(try database.digestDocuments() == 0)
    }

    @Test("an attachment that goes between the look-up and the storing is fetched")
    func goesBeforeStoring() throws {
        let database = try SessionPair.database()
        let pair = try SessionPair(databases: [database, SessionPair.database()])
        let revision = try pair.put(0, "old", "{}", files: ["a": Array("hello".utf8)])
        let stranger = try Stranger(database)
        stranger.answer = { _ in ([:], Array("hello".utf8)) }
        var isGone = false
        stranger.store = { request in
            if case .insert = request, !isGone {
                isGone = true
                #expect(stranger.requests.isEmpty)
                try pair.put(0, "old", "{}", parent: revision)
                try database.doHousekeeping()
            }
            return nil
        }
        sendRevision(stranger, "new", body(), tag: 1)
        try stranger.run()
        #expect(isGone)
        #expect(stranger.requests.map { $0.properties["Profile"] } == ["getAttachment"])
        #expect(stranger.replies[1]?.kind == .response)
        #expect(try pair.file(0, "new", "a") == Array("hello".utf8))
        #expect(try database.findFaults() == [])
    }

    @Test(
        "a disk that is full while an attachment comes ends the link, so that the peer comes again",
        arguments: [true, false])
    func fullDisk(atTheEnd: Bool) throws {
        let stranger = try Stranger(try SessionPair.database())
        stranger.answer = { _ in ([:], Array("hello".utf8)) }
        stranger.store = { request in
            switch request {
            case .appendBlob where !atTheEnd, .finishBlob where atTheEnd:
                .failed(KithError(.diskFull, "no space is left"))
            default: nil
            }
        }
        sendRevision(stranger, "waits", body(), tag: 1)
        try stranger.run()
        #expect(stranger.session.ended?.closeCode == 4001)
        #expect(stranger.replies[1] == nil)
        #expect(stranger.session.takeRefusals().isEmpty)
    }

    @Test("a damaged attachment is the affair of its documents, a disk that cannot be read ends the link")
    func cannotBeRead() throws {
        for code in [ErrorCode.damaged, .inputOutput] {
            let stranger = try inFlight()
            stranger.store = { request in
                guard case .readBlobPiece = request else { return nil }
                return .failed(KithError(code, "it cannot be read"))
            }
            stranger.send(["Profile": "getAttachment", "digest": Self.digest, "docID": "doc"], tag: 4)
            try stranger.run()
            #expect(stranger.replies[4]?.error?.code == (code == .damaged ? 500 : nil))
            #expect((stranger.session.ended != nil) == (code == .inputOutput))
        }
    }

    @Test("a peer that is busy ends the link, so that nothing is passed over")
    func busy() throws {
        let stranger = try Stranger(try SessionPair.database())
        stranger.answer = { _ in (["Error-Code": "503"], []) }
        sendRevision(stranger, "waits", body(), tag: 1)
        try stranger.run()
        #expect(stranger.session.ended?.closeCode == 4001)
    }

    @Test("a peer that sends documents without waiting for answers is cut off before they fill the memory")
    func floods() throws {
        let stranger = try Stranger(try SessionPair.database())
        stranger.answer = { _ in nil }
        let filler = String(repeating: "x", count: 5 << 20)
        for tag in 1...20 as ClosedRange<UInt64> {
            let text = String(decoding: body(), as: UTF8.self).dropLast() + ",\"x\":\"\(filler)\"}"
            sendRevision(stranger, "d-\(tag)", Array(text.utf8), tag: tag)
        }
        try stranger.run()
        #expect(stranger.session.ended?.closeCode == 1008)
    }

    /// A database with one document that has "hello" attached, whose `rev` a stranger has got and not answered.
    private func inFlight() throws -> Stranger {
        let database = try SessionPair.database()
        let pair = try SessionPair(databases: [database, SessionPair.database()])
        try pair.put(0, "doc", "{\"b\":1,\"A\":2}", files: ["a": Array("hello".utf8)])
        let stranger = try Stranger(database)
        stranger.answer = { request in
            switch request.properties["Profile"] {
            case "changes": return ([:], Array("[[]]".utf8))
            default: return nil
            }
        }
        stranger.send(["Profile": "getAttachment", "digest": Self.digest], tag: 1)
        stranger.send(["Profile": "proveAttachment", "digest": Self.digest], [1], tag: 2)
        stranger.send(["Profile": "subChanges"], tag: 3)
        try stranger.run()
        return stranger
    }

    @Test("an attachment is given out only while a revision that has it is on its way")
    func onlyInFlight() throws {
        let stranger = try inFlight()
        #expect(stranger.replies[1]?.error?.code == 403)
        #expect(stranger.replies[2]?.error?.code == 404)
        let revision = try #require(stranger.requests.first { $0.properties["Profile"] == "rev" })
        let value = try JSONValue(parsing: revision.body)
        #expect(value["_attachments"]?["a"]?["digest"] == .string(Self.digest))
        #expect(value["_attachments"]?["a"]?["length"] == 5)
        #expect(value["_attachments"]?["a"]?["stub"] == true)
        #expect(value["_attachments"]?["a"]?["content_type"] == "image/png")
        #expect(value["_attachments"]?["a"]?["revpos"] == 1)
        #expect(value["b"] == 1)
        stranger.send(["Profile": "getAttachment", "digest": Self.digest, "docID": "doc"], tag: 4)
        stranger.send(["Profile": "getAttachment", "digest": "sha1-AAAAAAAAAAAAAAAAAAAAAAAAAAA="], tag: 5)
        stranger.send(["Profile": "getAttachment", "digest": "md5-xx"], tag: 6)
        try stranger.run()
        #expect(stranger.replies[4]?.body == Array("hello".utf8))
        #expect(stranger.replies[5]?.error?.code == 403)
        #expect(stranger.replies[6]?.error?.code == 400)
    }

    @Test("the proof of an attachment is made over the length of the nonce, the nonce and the bytes")
    func proof() throws {
        let stranger = try inFlight()
        stranger.send(["Profile": "proveAttachment", "digest": Self.digest], Array("abc".utf8), tag: 4)
        stranger.send(["Profile": "proveAttachment", "digest": Self.digest], [], tag: 5)
        stranger.send(
            ["Profile": "proveAttachment", "digest": Self.digest], Array(repeating: 1, count: 256), tag: 6)
        try stranger.run()
        // printf '\003abchello' | openssl dgst -sha1 -binary | base64
        #expect(stranger.replies[4]?.body == Array("sha1-NnsvSMkKCnwakDsuENNlDi97PMI=".utf8))
        #expect(stranger.replies[5]?.error?.code == 400)
        #expect(stranger.replies[6]?.error?.code == 400)
    }
}

extension Database {
    fileprivate func digestDocuments() throws -> Int { try read { try $0.digest().documents } }
}
