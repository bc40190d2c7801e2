import Testing

@testable import KithWire

@Suite("BLIP: order, frames and flow")
struct BLIPFlowTests {
    /// The request number at the start of a frame, and its flags.
    private func header(_ frame: [UInt8]) -> (number: UInt64, flags: UInt64) {
        frame.withUnsafeBytes { bytes in
            var offset = 0
            let number = Varint.read(bytes, at: &offset) ?? 0
            return (number, Varint.read(bytes, at: &offset) ?? 0)
        }
    }

    private func big(_ isUrgent: Bool = false, bytes: Int = 60_000) -> BLIPOutgoing {
        BLIPOutgoing(body: [UInt8](repeating: 1, count: bytes), isUrgent: isUrgent, isNoReply: true)
    }

    @Test("a message that is alone goes in frames of 16,384 bytes")
    func bigFrames() {
        let connection = BLIPConnection()
        connection.send(big())
        let frames = connection.allFrames()
        #expect(frames.dropLast().allSatisfy { $0.count == 16_384 })
        #expect(frames.dropLast().allSatisfy { self.header($0).flags & BLIPFlags.moreComing != 0 })
        #expect(header(frames.last ?? []).flags & BLIPFlags.moreComing == 0)
        #expect(connection.queuedBytes == 0)
    }

    @Test("messages that are not urgent take turns")
    func roundRobin() {
        let connection = BLIPConnection()
        for _ in 1...3 { connection.send(big(bytes: 30_000)) }
        #expect(connection.allFrames().map { header($0).number } == [1, 2, 3, 1, 2, 3])
    }

    @Test("an urgent message goes ahead, and others go in small frames while it waits")
    func urgentGoesAhead() throws {
        let connection = BLIPConnection()
        for _ in 1...3 { connection.send(big(bytes: 100_000)) }
        #expect((1...3).map { _ in header(connection.nextFrame() ?? []).number } == [1, 2, 3])
        connection.send(big(true, bytes: 40_000))
        // One of the others stays before the urgent one, in a small frame.
        let small = try #require(connection.nextFrame())
        #expect(header(small).number == 1)
        #expect(small.count == 4_096)
        let urgent = try #require(connection.nextFrame())
        #expect(header(urgent).number == 4)
        #expect(header(urgent).flags & BLIPFlags.urgent != 0)
        #expect(urgent.count == 16_384)
        let numbers = (1...4).map { _ in header(connection.nextFrame() ?? []).number }
        #expect(numbers == [2, 4, 3, 4])
    }

    @Test("two urgent messages leave one of the others between them")
    func urgentLeaveRoom() {
        let connection = BLIPConnection()
        for _ in 1...4 { connection.send(big(bytes: 100_000)) }
        for _ in 1...4 { _ = connection.nextFrame() }
        connection.send(big(true, bytes: 10))
        connection.send(big(true, bytes: 10))
        #expect((1...6).map { _ in header(connection.nextFrame() ?? []).number } == [1, 5, 2, 6, 3, 4])
    }

    @Test("a new urgent request stays behind requests that have not begun, an urgent response does not")
    func urgentBehindNew() throws {
        let connection = BLIPConnection()
        var maker = BLIPFrameMaker()
        _ = try connection.receive(frame: maker.frame(flags: BLIPFlags.urgent, properties: [:]))
        for _ in 1...3 { connection.send(BLIPOutgoing(body: [1])) }
        connection.send(BLIPOutgoing(body: [2], isUrgent: true))
        #expect(connection.reply(to: 1))
        let order = connection.allFrames().map { header($0) }
        #expect(order.map(\.number) == [1, 2, 3, 4, 1])
        #expect(order.last?.flags == BLIPFlags.typeResponse | BLIPFlags.urgent)

        _ = try connection.receive(frame: maker.frame(number: 2, flags: BLIPFlags.urgent, properties: [:]))
        for _ in 1...3 { connection.send(BLIPOutgoing(body: [1])) }
        #expect(connection.reply(to: 2))
        #expect(connection.allFrames().map { header($0).number } == [5, 2, 6, 7])
    }

    @Test("a reply is as urgent as its request, whatever it says itself")
    func urgencyInherited() throws {
        var maker = BLIPFrameMaker()
        let connection = BLIPConnection()
        _ = try connection.receive(frame: maker.frame(number: 1, flags: BLIPFlags.urgent, properties: [:]))
        _ = try connection.receive(frame: maker.frame(number: 2, properties: [:]))
        #expect(connection.reply(BLIPOutgoing(isUrgent: false, isNoReply: true), to: 1))
        #expect(connection.reply(BLIPOutgoing(isUrgent: true), to: 2))
        let flags = connection.allFrames().map { header($0).flags }
        #expect(flags == [BLIPFlags.typeResponse | BLIPFlags.urgent, BLIPFlags.typeResponse])
    }

    @Test("a sender pauses at 128,000 bytes without acknowledgement, others go on, an acknowledgement resumes")
    func pause() throws {
        let connection = BLIPConnection()
        connection.send(big(bytes: 500_000))
        var sent = 0
        while let frame = connection.nextFrame() { sent += frame.count - 2 }
        #expect(sent >= 128_000 && sent < 128_000 + 16_384)
        #expect(connection.queuedBytes > 0)
        connection.send(BLIPOutgoing(isNoReply: true))
        #expect(header(connection.nextFrame() ?? []).number == 2)
        #expect(connection.nextFrame() == nil)
        var acknowledgement: [UInt8] = [1, 0x34]
        Varint.append(50_001, to: &acknowledgement)
        _ = try connection.receive(frame: acknowledgement)
        var more = 0
        while let frame = connection.nextFrame() { more += frame.count - 2 }
        #expect(sent + more - 50_001 >= 128_000)
        #expect(sent + more - 50_001 < 128_000 + 16_384)
    }

    @Test("a receiver acknowledges each 50,000 transmitted bytes, checksums included, before anything else it sends")
    func acknowledging() throws {
        for isCompressed in [false, true] {
            var random = SeededNumbers(7)
            let sender = BLIPConnection()
            let receiver = BLIPConnection()
            sender.send(BLIPOutgoing(body: random.bytes(200_000), isCompressed: isCompressed))
            receiver.send(BLIPOutgoing(isNoReply: true))
            _ = receiver.nextFrame()
            var total: UInt64 = 0
            var acknowledged: UInt64 = 0
            var acknowledgements = 0
            while let frame = sender.nextFrame() {
                total += UInt64(frame.count - 2)
                let isLast = header(frame).flags & BLIPFlags.moreComing == 0
                _ = try receiver.receive(frame: frame)
                if !isLast, total - acknowledged >= 50_000 {
                    receiver.send(BLIPOutgoing(isNoReply: true))
                    let acknowledgement = try #require(receiver.nextFrame())
                    var expected: [UInt8] = [1, 0x34]
                    Varint.append(total, to: &expected)
                    #expect(acknowledgement == expected)
                    acknowledged = total
                    acknowledgements += 1
                    _ = receiver.nextFrame()
                    _ = try sender.receive(frame: acknowledgement)
                }
                #expect(!receiver.hasFramesToSend)
            }
            #expect(acknowledgements == 3)
        }
    }

    @Test("a long response is acknowledged as one")
    func longResponse() throws {
        let client = BLIPConnection()
        let server = BLIPConnection()
        client.send(BLIPOutgoing(properties: ["Profile": "getAttachment"]), tag: 9)
        _ = try server.receive(frame: client.nextFrame() ?? [])
        let body = [UInt8](repeating: 3, count: 1_000_000)
        server.reply(BLIPOutgoing(body: body), to: 1)
        let told = try exchange(client, server)
        #expect(told.a.first?.response?.tag == 9)
        #expect(told.a.first?.response?.message.body == body)
    }

    @Test("no compressed frame is longer than 16,384 bytes, however badly or well the data compresses")
    func compressedFrameSizes() throws {
        var random = SeededNumbers(42)
        var mixed: [UInt8] = []
        for index in 0..<200 {
            mixed +=
                index.isMultiple(of: 3)
                ? random.bytes(Int(random.next() % 3_000)) : [UInt8](repeating: 65, count: Int(random.next() % 9_000))
        }
        for body in [random.bytes(1_000_000), [UInt8](repeating: 0, count: 5_000_000), mixed] {
            let sender = BLIPConnection()
            let receiver = BLIPConnection()
            sender.send(BLIPOutgoing(body: body, isNoReply: true, isCompressed: true))
            var told: [BLIPEvent] = []
            while let frame = sender.nextFrame() {
                #expect(frame.count <= 16_384)
                told += try receiver.receive(frame: frame)
                while let answer = receiver.nextFrame() { _ = try sender.receive(frame: answer) }
            }
            #expect(told.first?.request?.body == body)
        }
    }

    @Test("when open messages hold too much only the oldest is acknowledged, and all arrive in the end")
    func withheldAcknowledgements() throws {
        var limits = BLIPLimits()
        limits.openBytesSoftMax = 300_000
        limits.openBytesMax = 2_500_000
        let sender = BLIPConnection()
        let receiver = BLIPConnection(limits: limits)
        for _ in 1...10 { sender.send(BLIPOutgoing(body: [UInt8](repeating: 2, count: 1_000_000))) }
        let requests = try exchange(sender, receiver).b.compactMap(\.request)
        #expect(requests.map(\.number).sorted() == Array(1...10))
        #expect(requests.allSatisfy { $0.body.count == 1_000_000 })
    }

    @Test("giving up returns the tags of everything that will have no answer")
    func abandon() throws {
        let connection = BLIPConnection()
        connection.send(BLIPOutgoing(), tag: 1)
        connection.send(BLIPOutgoing(isNoReply: true), tag: 2)
        _ = connection.allFrames()
        connection.send(big(bytes: 300_000), tag: 3)
        connection.send(BLIPOutgoing(), tag: 4)
        #expect(connection.abandon().sorted() == [1, 4])
        #expect(connection.queuedBytes == 0)
        #expect(!connection.hasFramesToSend)
        #expect(throws: BLIPError.abandoned) { try connection.receive(frame: [1, 0]) }
    }

    @Test("hundreds of messages of all kinds arrive once and unchanged, in both directions", arguments: 1...4)
    func everythingArrives(seed: UInt64) throws {
        var random = SeededNumbers(seed)
        let ends = [BLIPConnection(), BLIPConnection()]
        var inFlight: [[[UInt8]]] = [[], []]
        var bodies: [[UInt64: [UInt8]]] = [[:], [:]]
        var got: [[UInt64: [UInt8]]] = [[:], [:]]
        var replies: [[UInt64: [UInt8]]] = [[:], [:]]
        var noReplies = [0, 0]
        let total: UInt64 = 250
        var made: [UInt64] = [0, 0]
        while true {
            let side = Int(random.next() % 2)
            let end = ends[side]
            if made[side] < total, random.next() % 4 == 0 {
                made[side] += 1
                let count = random.next() % 20 == 0 ? Int(random.next() % 400_000) : Int(random.next() % 800)
                let body = random.next() % 2 == 0 ? random.bytes(count) : [UInt8](repeating: 9, count: count)
                let isNoReply = random.next() % 5 == 0
                if isNoReply { noReplies[side] += 1 }
                bodies[side][made[side]] = body
                end.send(
                    BLIPOutgoing(
                        properties: ["tag": String(made[side])], body: body, isUrgent: random.next() % 3 == 0,
                        isNoReply: isNoReply, isCompressed: random.next() % 2 == 0),
                    tag: made[side])
            } else if random.next() % 2 == 0, let frame = end.nextFrame() {
                #expect(frame.count <= 16_384)
                inFlight[1 - side].append(frame)
            } else if !inFlight[side].isEmpty {
                for event in try end.receive(frame: inFlight[side].removeFirst()) {
                    switch event {
                    case .request(let message):
                        let tag = UInt64(message.properties.int("tag") ?? 0)
                        #expect(got[side].updateValue(message.body, forKey: tag) == nil)
                        if !message.isNoReply {
                            end.reply(BLIPOutgoing(body: message.body, isCompressed: tag % 2 == 0), to: message.number)
                        }
                    case .responsePart: Issue.record("nobody asked for a response in parts")
                    case .response(let tag, let message):
                        #expect(replies[side].updateValue(message.body, forKey: tag) == nil)
                    }
                }
            }
            let isIdle = ends.allSatisfy { !$0.hasFramesToSend } && inFlight.allSatisfy(\.isEmpty)
            if isIdle, made == [total, total] { break }
        }
        for side in 0...1 {
            #expect(got[1 - side] == bodies[side])
            #expect(replies[side].count == Int(total) - noReplies[side])
            #expect(replies[side].allSatisfy { bodies[side][$0.key] == $0.value })
            #expect(ends[side].queuedBytes == 0)
            #expect(ends[side].awaitedResponseCount == 0)
        }
    }
}
