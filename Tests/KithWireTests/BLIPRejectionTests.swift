import Testing

@testable import KithWire

@Suite("BLIP: what is refused and what is ignored")
struct BLIPRejectionTests {
    static let properties: BLIPProperties = ["Profile": "rev", "id": "doc-1"]

    @Test(
        "a header that runs off the frame ends the connection",
        arguments: ["", "01", "80", "80 80", "01 80", "FF FF FF FF FF FF FF FF FF 7F 00", "01 34", "01 34 80"])
    func badHeader(frame: String) {
        #expect(throws: BLIPError.malformedHeader) { try BLIPConnection().receive(frame: hex(frame)) }
    }

    @Test("a frame cut at any position is refused", arguments: [UInt64(0), BLIPFlags.compressed])
    func cutFrame(flags: UInt64) throws {
        var maker = BLIPFrameMaker()
        let frame = maker.frame(flags: flags, properties: Self.properties, body: Array("{}".utf8))
        for count in 0..<frame.count {
            #expect(throws: BLIPError.self) { try BLIPConnection().receive(frame: Array(frame[..<count])) }
        }
        #expect(try BLIPConnection().receive(frame: frame).count == 1)
    }

    @Test("a changed bit of payload or checksum never changes a message", arguments: [UInt64(0), BLIPFlags.compressed])
    func changedBit(flags: UInt64) throws {
        var maker = BLIPFrameMaker()
        let frame = maker.frame(flags: flags, properties: Self.properties, body: Array("{}".utf8))
        for index in 2..<frame.count {
            for bit in 0..<8 {
                var changed = frame
                changed[index] ^= 1 << UInt8(bit)
                do {
                    let request = try BLIPConnection().receive(frame: changed).first?.request
                    // Padding bits between deflate's blocks mean nothing.
                    #expect(flags != 0 && request?.properties == Self.properties && request?.body == Array("{}".utf8))
                } catch {}
            }
        }
    }

    @Test("request numbers rise by one from 1")
    func requestNumbers() throws {
        for number in [UInt64(0), 2, 300, .max] {
            var maker = BLIPFrameMaker()
            let frame = maker.frame(number: number, properties: [:])
            #expect(throws: BLIPError.requestOutOfOrder(expected: 1, got: number)) {
                try BLIPConnection().receive(frame: frame)
            }
        }
        var maker = BLIPFrameMaker()
        let connection = BLIPConnection()
        _ = try connection.receive(frame: maker.frame(properties: [:]))
        let again = maker.frame(properties: [:])
        #expect(throws: BLIPError.requestOutOfOrder(expected: 2, got: 1)) { try connection.receive(frame: again) }
    }

    @Test("after an error nothing is taken, nothing is sent, and the error stays the same")
    func failureStays() throws {
        let connection = BLIPConnection()
        connection.send(BLIPOutgoing())
        #expect(throws: BLIPError.malformedHeader) { try connection.receive(frame: []) }
        var maker = BLIPFrameMaker()
        let frame = maker.frame(properties: [:])
        #expect(throws: BLIPError.malformedHeader) { try connection.receive(frame: frame) }
        #expect(!connection.hasFramesToSend)
        #expect(connection.nextFrame() == nil)
    }

    @Test("a response nobody waits for is refused: never asked, no reply wanted, answered twice")
    func unexpectedResponse() throws {
        for type in [BLIPFlags.typeResponse, BLIPFlags.typeError] {
            var maker = BLIPFrameMaker()
            let frame = maker.frame(flags: type, properties: [:])
            #expect(throws: BLIPError.unexpectedResponse(number: 1)) {
                try BLIPConnection().receive(frame: frame)
            }
            let silent = BLIPConnection()
            silent.send(BLIPOutgoing(isNoReply: true))
            _ = silent.allFrames()
            #expect(throws: BLIPError.unexpectedResponse(number: 1)) { try silent.receive(frame: frame) }

            let queued = BLIPConnection()
            queued.send(BLIPOutgoing())
            #expect(throws: BLIPError.unexpectedResponse(number: 1)) { try queued.receive(frame: frame) }

            let twice = BLIPConnection()
            twice.send(BLIPOutgoing())
            _ = twice.allFrames()
            #expect(try twice.receive(frame: frame).count == 1)
            let second = maker.frame(flags: type, properties: [:])
            #expect(throws: BLIPError.unexpectedResponse(number: 1)) { try twice.receive(frame: second) }
        }
    }

    @Test(
        "a property block that is not pairs of texts ending in NUL is refused",
        arguments: [
            "",  // no length
            "80",  // half a length
            "02 61 00",  // an odd number of NULs
            "03 61 00 62",  // not ended by NUL
            "01 61",  // not ended by NUL
            "04 61 00 62",  // the message ends inside the block
            "7F",  // the message ends before the block
        ])
    func badProperties(payload: String) {
        for flags in [0, BLIPFlags.compressed] {
            var maker = BLIPFrameMaker()
            let frame = maker.frame(flags: flags, payload: hex(payload))
            #expect(throws: BLIPError.malformedProperties(number: 1)) {
                try BLIPConnection().receive(frame: frame)
            }
        }
    }

    @Test("a block that ends with the message's last frame unfinished is refused there")
    func blockUnfinishedInLastFrame() throws {
        var maker = BLIPFrameMaker()
        let connection = BLIPConnection()
        #expect(
            try connection.receive(frame: maker.frame(flags: BLIPFlags.moreComing, payload: hex("06 61 00"))).isEmpty)
        let last = maker.frame(payload: hex("62 00"))
        #expect(throws: BLIPError.malformedProperties(number: 1)) { try connection.receive(frame: last) }
    }

    @Test("a property block of 100 KiB is taken over many frames, one byte more is refused")
    func propertyLimit() throws {
        let overhead = 4
        let legal: BLIPProperties = ["id": String(repeating: "x", count: 102_400 - overhead)]
        #expect(legal.byteCount == 102_400)
        let sender = BLIPConnection()
        sender.send(BLIPOutgoing(properties: legal, body: [1]))
        let receiver = BLIPConnection()
        let told = try exchange(sender, receiver)
        #expect(told.b.first?.request?.properties == legal)

        var tooLong = legal
        tooLong["id"] = String(repeating: "x", count: 102_400 - overhead + 1)
        sender.send(BLIPOutgoing(properties: tooLong))
        let frame = try #require(sender.nextFrame())
        #expect(throws: BLIPError.propertiesTooLarge(limitBytes: 102_400)) {
            try receiver.receive(frame: frame)
        }
    }

    @Test("frames of undefined types are skipped before the codec", arguments: [UInt64(3), 6, 7])
    func unknownType(type: UInt64) throws {
        let connection = BLIPConnection()
        #expect(try connection.receive(frame: [9, UInt8(type), 1, 2, 3]).isEmpty)
        #expect(try connection.receive(frame: [9, UInt8(type | 0x48)]).isEmpty)
        var maker = BLIPFrameMaker()
        #expect(try connection.receive(frame: maker.frame(properties: [:])).count == 1)
    }

    @Test("undefined flag bits are ignored")
    func unknownFlags() throws {
        var maker = BLIPFrameMaker()
        let event = try BLIPConnection().receive(frame: maker.frame(flags: 0x7F80, properties: Self.properties))
        #expect(event.first?.request?.properties == Self.properties)
    }

    @Test("unknown and repeated properties do no harm: of two, the first counts")
    func repeatedProperty() throws {
        var maker = BLIPFrameMaker()
        let block = Array("a\u{0}1\u{0}a\u{0}2\u{0}\u{0}\u{0}".utf8)
        let frame = maker.frame(payload: [UInt8(block.count)] + block)
        let request = try #require(try BLIPConnection().receive(frame: frame).first?.request)
        #expect(request.properties["a"] == "1")
        #expect(request.properties[""] == "")
        #expect(request.properties["b"] == nil)
    }

    @Test("a value that is not UTF-8 spoils its property, not the connection")
    func notUTF8() throws {
        var maker = BLIPFrameMaker()
        let block: [UInt8] = [0x69, 0x64, 0, 0xFF, 0xFE, 0] + Array("rev\u{0}1-a\u{0}".utf8)
        let frame = maker.frame(payload: [UInt8(block.count)] + block)
        let request = try #require(try BLIPConnection().receive(frame: frame).first?.request)
        #expect(request.properties["id"] == nil)
        #expect(request.properties.contains("id"))
        #expect(request.properties["rev"] == "1-a")
    }

    @Test("acknowledgements that fit nothing are ignored")
    func strayAcknowledgements() throws {
        let connection = BLIPConnection()
        connection.send(BLIPOutgoing(body: [UInt8](repeating: 7, count: 300_000)))
        var frames = 0
        while connection.nextFrame() != nil { frames += 1 }
        #expect(frames == 8)
        for stray in ["05 34 E5 86 03", "01 35 E5 86 03", "01 34 FF FF FF FF 7F", "01 34 00"] {
            #expect(try connection.receive(frame: hex(stray)).isEmpty)
            #expect(!connection.hasFramesToSend)
        }
        #expect(try connection.receive(frame: hex("01 34 D0 86 03 AA BB")).isEmpty)
        #expect(connection.hasFramesToSend)
    }

    @Test(
        "what is not raw deflate is refused", arguments: ["07 00", "FF FF FF", "78 9C 03 00", "03 00", "01 00 00 FF"])
    func badDeflate(payload: String) {
        let frame = hex("01 08") + hex(payload) + hex("00 00 00 00")
        #expect(throws: BLIPError.self) { try BLIPConnection().receive(frame: frame) }
    }

    @Test("compressed and raw frames mix in one message, and raw ones leave the window alone")
    func mixedFrames() throws {
        let body = Array(repeating: Array("the same words again and again ".utf8), count: 40).flatMap { $0 }
        let message = BLIPFrameMaker.message(Self.properties, body)
        var maker = BLIPFrameMaker()
        let connection = BLIPConnection()
        let cuts = [0, 3, 20, 300, 301, 800, message.count]
        var told: [BLIPEvent] = []
        for index in 0..<(cuts.count - 1) {
            var flags: UInt64 = index.isMultiple(of: 2) ? BLIPFlags.compressed : 0
            if index < cuts.count - 2 { flags |= BLIPFlags.moreComing }
            told += try connection.receive(
                frame: maker.frame(flags: flags, payload: Array(message[cuts[index]..<cuts[index + 1]])))
        }
        #expect(told.first?.request?.properties == Self.properties)
        #expect(told.first?.request?.body == body)
    }

    @Test("a message may come in frames of one byte, and with empty frames between")
    func tinyFrames() throws {
        let message = BLIPFrameMaker.message(Self.properties, Array("{\"a\":1}".utf8))
        for flags in [0, BLIPFlags.compressed] {
            var maker = BLIPFrameMaker()
            let connection = BLIPConnection()
            for byte in message {
                let more = flags | BLIPFlags.moreComing
                #expect(try connection.receive(frame: maker.frame(flags: more, payload: [byte])).isEmpty)
                #expect(try connection.receive(frame: maker.frame(flags: more, payload: [])).isEmpty)
            }
            let told = try connection.receive(frame: maker.frame(flags: flags, payload: []))
            #expect(told.first?.request?.properties == Self.properties)
            #expect(told.first?.request?.body == Array("{\"a\":1}".utf8))
        }
    }

    @Test("a message beyond the limit loses its body, is delivered, and the next one is whole")
    func oversizedMessage() throws {
        var limits = BLIPLimits()
        limits.messageBytesMax = 50_000
        for isCompressed in [false, true] {
            let sender = BLIPConnection()
            let receiver = BLIPConnection(limits: limits)
            for count in [50_001, 400_000, 50_000] {
                sender.send(
                    BLIPOutgoing(
                        properties: Self.properties, body: [UInt8](repeating: 5, count: count),
                        isCompressed: isCompressed))
            }
            let requests = try exchange(sender, receiver).b.compactMap(\.request)
                .sorted { $0.number < $1.number }
            #expect(requests.map(\.droppedBodyBytes) == [50_001, 400_000, 0])
            #expect(requests.map(\.body.count) == [0, 0, 50_000])
            #expect(requests.allSatisfy { $0.properties == Self.properties })
        }
        // In one frame.
        var maker = BLIPFrameMaker()
        limits.messageBytesMax = 3
        let frame = maker.frame(properties: Self.properties, body: [1, 2, 3, 4])
        let request = try #require(try BLIPConnection(limits: limits).receive(frame: frame).first?.request)
        #expect(request.droppedBodyBytes == 4)
        #expect(request.body.isEmpty)
    }

    @Test("a small frame that inflates beyond the limit is refused")
    func bomb() {
        var maker = BLIPFrameMaker()
        let zeros = [UInt8](repeating: 0, count: 300_000)
        let frame = maker.frame(flags: BLIPFlags.compressed, payload: zeros)
        #expect(frame.count < 400)
        var limits = BLIPLimits()
        limits.inflatedFrameBytesMax = 299_999
        #expect(throws: BLIPError.inflatedFrameTooLarge(limitBytes: 299_999)) {
            try BLIPConnection(limits: limits).receive(frame: frame)
        }
    }

    @Test("the number of open messages, the bytes they hold, and unanswered requests are bounded")
    func countsAreBounded() throws {
        var limits = BLIPLimits()
        limits.openMessagesMax = 3
        limits.openBytesMax = 40_000
        limits.unansweredRequestsMax = 2
        var maker = BLIPFrameMaker()
        let open = BLIPConnection(limits: limits)
        for number in UInt64(1)...3 {
            _ = try open.receive(
                frame: maker.frame(number: number, flags: BLIPFlags.moreComing, properties: [:]))
        }
        let fourth = maker.frame(number: 4, flags: BLIPFlags.moreComing, properties: [:])
        #expect(throws: BLIPError.tooManyOpenMessages(limit: 3)) { try open.receive(frame: fourth) }

        maker = BLIPFrameMaker()
        let held = BLIPConnection(limits: limits)
        let piece = [UInt8](repeating: 0, count: 15_000)
        for _ in 1...2 {
            _ = try held.receive(frame: maker.frame(flags: BLIPFlags.moreComing, payload: piece))
        }
        let third = maker.frame(flags: BLIPFlags.moreComing, payload: piece)
        #expect(throws: BLIPError.tooManyOpenBytes(limitBytes: 40_000)) { try held.receive(frame: third) }

        maker = BLIPFrameMaker()
        let unanswered = BLIPConnection(limits: limits)
        for number in UInt64(1)...2 {
            _ = try unanswered.receive(frame: maker.frame(number: number, properties: [:]))
        }
        _ = try unanswered.receive(frame: maker.frame(number: 3, flags: BLIPFlags.noReply, properties: [:]))
        #expect(unanswered.reply(to: 1))
        _ = try unanswered.receive(frame: maker.frame(number: 4, properties: [:]))
        let fifth = maker.frame(number: 5, properties: [:])
        #expect(throws: BLIPError.tooManyUnansweredRequests(limit: 2)) { try unanswered.receive(frame: fifth) }
    }

    @Test("a request is answered once, not before it is whole, and not when it wants no reply")
    func oneReply() throws {
        var maker = BLIPFrameMaker()
        let connection = BLIPConnection()
        #expect(!connection.reply(to: 1))
        _ = try connection.receive(frame: maker.frame(flags: BLIPFlags.moreComing, properties: [:]))
        #expect(!connection.reply(to: 1))
        _ = try connection.receive(frame: maker.frame(payload: []))
        #expect(connection.reply(to: 1))
        #expect(!connection.reply(to: 1))
        #expect(!connection.replyError(code: 500, to: 1))
        _ = try connection.receive(frame: maker.frame(number: 2, flags: BLIPFlags.noReply, properties: [:]))
        #expect(!connection.reply(to: 2))
        #expect(connection.allFrames().count == 1)
    }
}
