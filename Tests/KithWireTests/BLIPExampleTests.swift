import KithWire
import Testing

/// The worked examples of the BLIP reference (blip.md §14): one connection, in this order per direction.
@Suite("BLIP: worked examples")
struct BLIPExampleTests {
    static let proposeBody =
        #"[["doc-1","1-aa00aa00aa00aa00aa00aa00aa00aa00",""],["doc-2","2-bb00bb00bb00bb00bb00bb00bb00bb00","#
        + #""1-cc00cc00cc00cc00cc00cc00cc00cc00"]]"#

    static let request1 = hex(
        """
        01 00 25
        50 72 6F 66 69 6C 65 00 67 65 74 43 68 65 63 6B 70 6F 69 6E 74 00
        63 6C 69 65 6E 74 00 63 70 2D 64 65 6D 6F 00
        22 A9 E6 70
        """)
    static let error1 = hex(
        """
        01 02 21
        45 72 72 6F 72 2D 44 6F 6D 61 69 6E 00 48 54 54 50 00
        45 72 72 6F 72 2D 43 6F 64 65 00 34 30 34 00
        96 4C 4B 0B
        """)
    static let request2 = hex(
        """
        02 00 25
        50 72 6F 66 69 6C 65 00 73 65 74 43 68 65 63 6B 70 6F 69 6E 74 00
        63 6C 69 65 6E 74 00 63 70 2D 64 65 6D 6F 00
        7B 22 6C 6F 63 61 6C 22 3A 37 7D
        79 07 36 81
        """)
    static let response2 = hex("02 01 09 72 65 76 00 31 2D 63 63 00 4A 2C BA 60")
    static let request3 = hex(
        """
        03 18
        32 08 28 CA 4F CB CC 49 65 28 28 CA 2F C8 2F 4E 75 CE 48 CC 4B 4F 2D 66 48 CE CF 4B CB C9 4C 2E
        F1 CC 4B CE 29 4D 49 2D 0E 4A 2D 63 28 29 2A 4D 65 88 8E 56 4A C9 4F D6 35 54 D2 51 32 D4 4D 4C
        34 30 C0 87 81 8A 94 62 75 20 3A 8C 80 1C 23 DD A4 24 03 03 7C 18 6C 6C 72 B2 81 01 3E AC 14 1B
        0B 00
        B9 C9 51 7C
        """)
    static let response3 = hex("03 19 62 88 8E 05 00 D7 F1 91 7F")
    static let request4first = hex("04 48 0A 85 B9 BB 08 E8 B0 CC 14 06 B0 9B C0 1C 54 57 01 00 3F C9 CD C7")
    static let request4last = hex(
        """
        04 08 C2 86 19 8A 53 0B 4B 53 F3 92 53 19 0C 19 F2 F2 61 3E 2D 06 F2 AA 95 F2 12 73 53 95 AC 94
        1C 53 12 95 6A 01 00 09 3D 97 89
        """)
    static let response4 = hex("04 01 00 12 6F 72 B1")
    static let acknowledgement4 = hex("04 34 E5 86 03")
    static let request5 = hex("05 30 10 50 72 6F 66 69 6C 65 00 63 68 61 6E 67 65 73 00 5B 5D 84 AC 6A C3")

    @Test("every frame of the client decodes to the message of the reference")
    func clientFramesDecode() throws {
        let server = BLIPConnection()
        var told: [BLIPEvent] = []
        for frame in [
            Self.request1, Self.request2, Self.request3, Self.request4first, Self.acknowledgement4,
            Self.request4last, Self.request5,
        ] {
            told += try server.receive(frame: frame)
        }
        let requests = told.compactMap(\.request)
        #expect(requests.map(\.number) == [1, 2, 3, 4, 5])
        #expect(requests.allSatisfy { $0.kind == .request && $0.error == nil && $0.droppedBodyBytes == 0 })
        #expect(requests[0].properties == ["Profile": "getCheckpoint", "client": "cp-demo"])
        #expect(requests[0].body.isEmpty)
        #expect(!requests[0].isUrgent)
        #expect(requests[1].properties == ["Profile": "setCheckpoint", "client": "cp-demo"])
        #expect(requests[1].body == Array(#"{"local":7}"#.utf8))
        #expect(requests[2].properties == ["Profile": "proposeChanges", "conflictIncludesRev": "true"])
        #expect(requests[2].body == Array(Self.proposeBody.utf8))
        #expect(requests[2].isUrgent)
        #expect(
            requests[3].properties == [
                "Profile": "rev", "id": "doc-1", "rev": "1-aa00aa00aa00aa00aa00aa00aa00aa00", "sequence": "1",
                "noconflicts": "1",
            ])
        #expect(requests[3].body == Array(#"{"name":"Ada"}"#.utf8))
        #expect(requests[4].properties["Profile"] == "changes")
        #expect(requests[4].isUrgent && requests[4].isNoReply)
        #expect(requests[4].body == Array("[]".utf8))
    }

    @Test("the client's uncompressed frames and the server's replies come out byte for byte")
    func framesComeOut() throws {
        let client = BLIPConnection()
        let server = BLIPConnection()

        client.send(BLIPOutgoing(properties: ["Profile": "getCheckpoint", "client": "cp-demo"]), tag: 11)
        #expect(client.nextFrame() == Self.request1)
        _ = try server.receive(frame: Self.request1)
        #expect(server.replyError(code: 404, to: 1))
        #expect(server.nextFrame() == Self.error1)
        let error = try #require(try client.receive(frame: Self.error1).first?.response)
        #expect(error.tag == 11)
        #expect(error.message.error == BLIPMessage.ErrorInfo(domain: "HTTP", code: 404, message: ""))

        client.send(
            BLIPOutgoing(
                properties: ["Profile": "setCheckpoint", "client": "cp-demo"], body: Array(#"{"local":7}"#.utf8)),
            tag: 12)
        #expect(client.nextFrame() == Self.request2)
        _ = try server.receive(frame: Self.request2)
        #expect(server.reply(BLIPOutgoing(properties: ["rev": "1-cc"]), to: 2))
        #expect(server.nextFrame() == Self.response2)
        let reply = try #require(try client.receive(frame: Self.response2).first?.response)
        #expect(reply.tag == 12)
        #expect(reply.message.properties["rev"] == "1-cc")

        client.send(
            BLIPOutgoing(
                properties: ["Profile": "proposeChanges", "conflictIncludesRev": "true"],
                body: Array(Self.proposeBody.utf8), isUrgent: true, isCompressed: true),
            tag: 13)
        let compressed = try #require(client.nextFrame())
        #expect(compressed[1] == 0x18)
        #expect(compressed.suffix(4) == Self.request3.suffix(4))
        let request3 = try #require(try server.receive(frame: compressed).first?.request)
        #expect(request3.body == Array(Self.proposeBody.utf8))
        #expect(server.reply(BLIPOutgoing(body: Array("[]".utf8), isCompressed: true), to: 3))
        let compressedReply = try #require(server.nextFrame())
        #expect(compressedReply.prefix(2) == Self.response3.prefix(2))
        #expect(compressedReply.suffix(4) == Self.response3.suffix(4))
        let reply3 = try #require(try client.receive(frame: compressedReply).first?.response)
        #expect(reply3.tag == 13)
        #expect(reply3.message.isUrgent)
        #expect(reply3.message.body == Array("[]".utf8))
    }

    @Test("the server's frames decode at the client that asked")
    func serverFramesDecode() throws {
        let client = BLIPConnection()
        for tag in 1...5 { client.send(BLIPOutgoing(isNoReply: tag == 5), tag: UInt64(tag)) }
        _ = client.allFrames()
        #expect(client.awaitedResponseCount == 4)
        var told: [BLIPEvent] = []
        for frame in [Self.error1, Self.response2, Self.response3, Self.response4] {
            told += try client.receive(frame: frame)
        }
        let responses = told.compactMap(\.response)
        #expect(responses.map(\.tag) == [1, 2, 3, 4])
        #expect(responses.map(\.message.kind) == [.error, .response, .response, .response])
        #expect(responses[3].message.properties.isEmpty && responses[3].message.body.isEmpty)
        #expect(client.awaitedResponseCount == 0)
    }

    @Test("an empty request on a fresh connection has the checksum of one zero byte")
    func emptyRequest() {
        let client = BLIPConnection()
        client.send(BLIPOutgoing())
        #expect(client.nextFrame() == hex("01 00 00 D2 02 EF 8D"))
    }

    @Test("the 300th request has a number of two bytes")
    func twoByteNumber() throws {
        let client = BLIPConnection()
        let server = BLIPConnection()
        for _ in 1...300 { client.send(BLIPOutgoing(isNoReply: true)) }
        let frames = client.allFrames()
        #expect(frames[299].prefix(4) == hex("AC 02 20 00").prefix(4))
        for frame in frames { _ = try server.receive(frame: frame) }
    }

    @Test("the frame from a log of Couchbase Lite 2.7 is taken")
    func frameFromLog() throws {
        let frame =
            hex("01 00 3D")
            + Array("Profile\0getCheckpoint\0client\0cp-MH1LMCIi3y1zKPIqxIV5S3TN+SA=\0".utf8)
            + hex("F2 C3 FD AC")
        let request = try #require(try BLIPConnection().receive(frame: frame).first?.request)
        #expect(request.properties["client"] == "cp-MH1LMCIi3y1zKPIqxIV5S3TN+SA=")
    }
}
