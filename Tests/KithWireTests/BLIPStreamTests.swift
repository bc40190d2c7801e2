import Testing

@testable import KithWire

@Suite("BLIP: bodies that are pulled from their sender and handed out as they come")
struct BLIPStreamTests {
    /// Two connections; one asks, the other answers with a body that a test hands over.
    private final class Exchange {
        let asker: BLIPConnection
        let answerer = BLIPConnection()
        let body: [UInt8]
        var pieceBytes = 100_000
        /// Whether pieces are handed over, and bytes consumed.
        var provides = true
        var consumes = true
        var handedOver = 0
        var received: [UInt8] = []
        var unconsumed = 0
        var response: BLIPMessage?
        var heldBytesMost = 0

        init(_ body: [UInt8], limits: BLIPLimits = BLIPLimits()) {
            self.body = body
            asker = BLIPConnection(limits: limits)
        }

        /// Asks, and answers with the first `firstBytes` of the body.
        func begin(firstBytes: Int = 0) throws {
            asker.send(BLIPOutgoing(properties: ["Profile": "getAttachment"]), tag: 7, streamsResponse: true)
            let events = try answerer.receive(frame: try #require(asker.nextFrame()))
            guard case .request(let request) = events.first else { throw BLIPError.malformedHeader }
            handedOver = min(firstBytes, body.count)
            answerer.reply(
                BLIPOutgoing(body: Array(body[..<handedOver])), pulling: body.count, tag: 3, to: request.number)
        }

        func provide() {
            for tag in answerer.takeHungryPulls() where provides {
                let end = min(handedOver + pieceBytes, body.count)
                answerer.provide(Array(body[handedOver..<end]), toPull: tag)
                handedOver = end
            }
        }

        func take(_ events: [BLIPEvent]) {
            for event in events {
                switch event {
                case .responsePart(7, let bytes):
                    received += bytes
                    unconsumed += bytes.count
                    if consumes { consume() }
                case .response(7, let message): response = message
                default: Issue.record("an event that nobody asked for")
                }
            }
        }

        func consume() {
            asker.consume(unconsumed, ofResponseTo: 7)
            unconsumed = 0
        }

        /// Moves frames until none moves.
        func run() throws {
            var moved = true
            while moved {
                moved = false
                provide()
                while let frame = answerer.nextFrame() {
                    moved = true
                    take(try asker.receive(frame: frame))
                    heldBytesMost = max(heldBytesMost, answerer.queuedBytes)
                    provide()
                    while let back = asker.nextFrame() { _ = try answerer.receive(frame: back) }
                }
                while let back = asker.nextFrame() {
                    moved = true
                    _ = try answerer.receive(frame: back)
                }
            }
        }
    }

    @Test(
        "a body of any length arrives whole, whatever the pieces",
        arguments: [0, 1, 16_000, 16_384, 131_072, 131_073, 1_000_003])
    func roundTrip(count: Int) throws {
        var random = SeededNumbers(UInt64(count))
        let body = random.bytes(count)
        for (pieceBytes, firstBytes) in [(1, 1_000_000), (4_096, 0), (262_144, 262_144), (2_000_000, 17)]
        where count / pieceBytes < 10_000 || firstBytes >= count {
            let exchange = Exchange(body)
            exchange.pieceBytes = pieceBytes
            try exchange.begin(firstBytes: firstBytes)
            try exchange.run()
            #expect(exchange.received == body)
            #expect(exchange.response?.body == [])
            #expect(exchange.response?.error == nil)
            #expect(exchange.answerer.queuedBytes == 0)
            #expect(exchange.asker.openBytes == 0)
            #expect(!exchange.answerer.hasFramesToSend)
            let most = WireLimits.blipPulledBytesLow + max(pieceBytes, firstBytes)
            #expect(exchange.heldBytesMost <= most)
        }
    }

    @Test("nothing is sent ahead of the window while bytes are not consumed, and all goes on when they are")
    func backPressure() throws {
        var random = SeededNumbers(1)
        let exchange = Exchange(random.bytes(500_000))
        exchange.consumes = false
        try exchange.begin()
        try exchange.run()
        let window = WireLimits.blipUnacknowledgedBytesMax
        #expect(exchange.received.count > window - 1_000)
        #expect(exchange.received.count < window + WireLimits.blipBigFrameBytes)
        let before = exchange.received.count
        // Less than the protocol's step is not worth an acknowledgement.
        exchange.asker.consume(20_000, ofResponseTo: 7)
        exchange.unconsumed -= 20_000
        try exchange.run()
        #expect(exchange.received.count == before)
        exchange.asker.consume(50_000, ofResponseTo: 7)
        exchange.unconsumed -= 50_000
        try exchange.run()
        #expect(exchange.received.count > before)
        #expect(exchange.unconsumed < window + WireLimits.blipBigFrameBytes)
        exchange.consumes = true
        exchange.consume()
        try exchange.run()
        #expect(exchange.received == exchange.body)
    }

    @Test("while a body waits for its next piece, other messages go out")
    func starved() throws {
        let exchange = Exchange(Array(repeating: 1, count: 100_000))
        exchange.provides = false
        try exchange.begin(firstBytes: 10)
        #expect(exchange.answerer.takeHungryPulls() == [3])
        #expect(exchange.answerer.takeHungryPulls() == [])
        exchange.take(try exchange.asker.receive(frame: try #require(exchange.answerer.nextFrame())))
        #expect(exchange.received.count == 10)
        #expect(!exchange.answerer.hasFramesToSend)
        exchange.answerer.send(BLIPOutgoing(isUrgent: true, isNoReply: true))
        let events = try exchange.asker.receive(frame: try #require(exchange.answerer.nextFrame()))
        #expect(events.first?.request != nil)
        #expect(exchange.answerer.nextFrame() == nil)
        exchange.answerer.provide(exchange.body, toPull: 3)
        exchange.handedOver = exchange.body.count
        try exchange.run()
        // What was provided beyond the announced length is left out.
        #expect(exchange.received.count == 100_000)
    }

    @Test("an urgent message does not wait behind a long body")
    func urgent() throws {
        let exchange = Exchange(Array(repeating: 1, count: 10_000_000))
        try exchange.begin(firstBytes: 262_144)
        _ = exchange.answerer.nextFrame()
        exchange.answerer.send(BLIPOutgoing(isUrgent: true, isNoReply: true))
        let frames = [exchange.answerer.nextFrame(), exchange.answerer.nextFrame()]
        #expect(frames.contains { $0?.count ?? 0 < 100 })
    }

    @Test(
        "a body that its sender cannot finish ends early, at whatever point it stands",
        arguments: [0, 1, 50_000, 200_000])
    func endsEarly(sent: Int) throws {
        let exchange = Exchange(Array(repeating: 9, count: 300_000))
        exchange.provides = false
        try exchange.begin(firstBytes: sent)
        try exchange.run()
        #expect(exchange.response == nil)
        exchange.answerer.endPull(3)
        exchange.answerer.provide([1, 2, 3], toPull: 3)
        try exchange.run()
        #expect(exchange.received.count == sent)
        #expect(exchange.response != nil)
    }

    @Test("an error answers a request whose response would be handed out")
    func error() throws {
        let exchange = Exchange([])
        exchange.asker.send(BLIPOutgoing(), tag: 7, streamsResponse: true)
        _ = try exchange.answerer.receive(frame: try #require(exchange.asker.nextFrame()))
        exchange.answerer.replyError(code: 404, message: "gone", to: 1)
        try exchange.run()
        #expect(exchange.response?.error?.code == 404)
        #expect(exchange.response?.error?.message == "gone")
        #expect(exchange.received == [])
    }

    @Test("a peer that sends on without acknowledgements is cut off")
    func ignoresWindow() throws {
        var limits = BLIPLimits()
        limits.openBytesMax = 200_000
        let exchange = Exchange(Array(repeating: 9, count: 1_000_000), limits: limits)
        exchange.consumes = false
        try exchange.begin(firstBytes: 1_000_000)
        #expect(throws: BLIPError.tooManyOpenBytes(limitBytes: 200_000)) {
            while true {
                while let frame = exchange.answerer.nextFrame() {
                    exchange.take(try exchange.asker.receive(frame: frame))
                }
                // It takes more to be acknowledged than was.
                var acknowledgement: [UInt8] = [1, 0x35]
                Varint.append(UInt64(exchange.received.count), to: &acknowledgement)
                _ = try exchange.answerer.receive(frame: acknowledgement)
                if exchange.response != nil { break }
            }
        }
    }

    @Test("compressed frames are handed out as well")
    func compressed() throws {
        let exchange = Exchange([])
        let body = Array(repeating: UInt8(5), count: 3_000_000)
        exchange.asker.send(BLIPOutgoing(), tag: 7, streamsResponse: true)
        _ = try exchange.answerer.receive(frame: try #require(exchange.asker.nextFrame()))
        exchange.answerer.reply(BLIPOutgoing(body: body, isCompressed: true), to: 1)
        try exchange.run()
        #expect(exchange.received == body)
        #expect(exchange.asker.openBytes == 0)
    }
}
