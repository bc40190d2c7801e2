import Glibc
import KithWire

// Each target feeds one input whole and in pieces whose lengths come from the input itself: what the machine tells must
// be the same. Crashes and out-of-bounds accesses are found by the traps and the sanitizer, differences by `require`.

/// Ends the process with a reason, in release builds too.
private func require(_ condition: Bool, _ reason: StaticString) {
    if !condition { fatalError("fuzz: \(reason)") }
}

/// Cuts the rest of an input into pieces; the first bytes say how long they are.
private struct Pieces {
    let whole: UnsafeRawBufferPointer
    private let lengths: [Int]

    init(_ input: UnsafeRawBufferPointer) {
        let control = input.prefix(4)
        lengths = control.map { Int($0 & 0x3F) + 1 }
        whole = UnsafeRawBufferPointer(rebasing: input.dropFirst(control.count))
    }

    func forEach(_ body: (UnsafeRawBufferPointer) -> Void) {
        var start = 0
        var index = 0
        while start < whole.count {
            let end = min(whole.count, start + lengths[index % lengths.count])
            // A copy of its own, so that the sanitizer sees a read past the piece.
            let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: end - start, alignment: 1)
            piece.copyMemory(from: UnsafeRawBufferPointer(rebasing: whole[start..<end]))
            body(UnsafeRawBufferPointer(piece))
            piece.deallocate()
            start = end
            index += 1
        }
    }
}

// MARK: HTTP

private enum HTTPTold: Equatable {
    case request(HTTPRequestHead)
    case interim(HTTPResponseHead)
    case response(HTTPResponseHead)
    case body([UInt8])
    case end
    case failed(Int)
}

/// Appends, with the bytes of one body joined.
private func tell(_ event: HTTPTold, _ told: inout [HTTPTold]) {
    if case .body(let bytes) = event, case .body(let before)? = told.last {
        told[told.count - 1] = .body(before + bytes)
    } else {
        told.append(event)
    }
}

private func pull(_ parser: inout HTTPRequestParser, _ told: inout [HTTPTold]) {
    if case .failed? = told.last { return }
    do throws(HTTPParseError) {
        while let event = try parser.nextEvent() {
            switch event {
            case .head(let head): tell(.request(head), &told)
            case .body(let bytes): tell(.body(bytes), &told)
            case .end: tell(.end, &told)
            }
        }
    } catch {
        tell(.failed(error.status), &told)
    }
}

private func pull(_ parser: inout HTTPResponseParser, _ told: inout [HTTPTold]) {
    if case .failed? = told.last { return }
    do throws(HTTPParseError) {
        while let event = try parser.nextEvent() {
            switch event {
            case .interim(let head): tell(.interim(head), &told)
            case .head(let head): tell(.response(head), &told)
            case .body(let bytes): tell(.body(bytes), &told)
            case .end: tell(.end, &told)
            }
        }
    } catch {
        tell(.failed(error.status), &told)
    }
}

private func smallLimits() -> HTTPLimits {
    var limits = HTTPLimits()
    limits.headBytesMax = 512
    limits.headerFieldsMax = 8
    limits.targetBytesMax = 64
    limits.bodyBytesMax = 300
    return limits
}

/// HTTP requests: whole and cut alike, and a head that is written again reads the same.
func fuzzHTTPRequest(_ bytes: UnsafeRawBufferPointer) {
    let pieces = Pieces(bytes)
    let limits = bytes.first.map { $0 & 0x40 != 0 } == true ? smallLimits() : HTTPLimits()
    var whole = HTTPRequestParser(limits: limits)
    var toldWhole: [HTTPTold] = []
    whole.receive(pieces.whole)
    pull(&whole, &toldWhole)
    whole.receiveEnd()
    pull(&whole, &toldWhole)

    var cut = HTTPRequestParser(limits: limits)
    var toldCut: [HTTPTold] = []
    pieces.forEach {
        cut.receive($0)
        pull(&cut, &toldCut)
    }
    cut.receiveEnd()
    pull(&cut, &toldCut)
    require(toldWhole == toldCut, "a request cut differs from the request whole")
    require(whole.bufferedBytes <= pieces.whole.count, "more is left than came")

    for case .request(let head) in toldWhole {
        var out: [UInt8] = []
        head.append(to: &out)
        var again = HTTPRequestParser()
        var told: [HTTPTold] = []
        out.withUnsafeBytes { again.receive($0) }
        pull(&again, &told)
        require(told.first == .request(head), "a request head that is written reads differently")
    }
}

/// HTTP responses: whole and cut alike, with and without an end of the connection.
func fuzzHTTPResponse(_ bytes: UnsafeRawBufferPointer) {
    let pieces = Pieces(bytes)
    let limits = bytes.first.map { $0 & 0x40 != 0 } == true ? smallLimits() : HTTPLimits()
    var whole = HTTPResponseParser(limits: limits)
    whole.answersHeadRequest = bytes.first.map { $0 & 0x80 != 0 } == true
    var cut = whole
    var toldWhole: [HTTPTold] = []
    whole.receive(pieces.whole)
    pull(&whole, &toldWhole)
    whole.receiveEnd()
    pull(&whole, &toldWhole)

    var toldCut: [HTTPTold] = []
    pieces.forEach {
        cut.receive($0)
        pull(&cut, &toldCut)
    }
    cut.receiveEnd()
    pull(&cut, &toldCut)
    require(toldWhole == toldCut, "a response cut differs from the response whole")

    for case .response(let head) in toldWhole where head.minorVersion == 1 {
        var out: [UInt8] = []
        head.append(to: &out)
        var again = HTTPResponseParser()
        var told: [HTTPTold] = []
        out.withUnsafeBytes { again.receive($0) }
        pull(&again, &told)
        require(told.first == .response(head), "a response head that is written reads differently")
    }
}

// MARK: WebSocket

private enum WebSocketTold: Equatable {
    case message(WebSocketOpcode, [UInt8])
    case ping([UInt8])
    case pong([UInt8])
    case close(UInt16?, String)
    case failed(WebSocketError)
}

private func feed(_ machine: WebSocketMachine, _ bytes: UnsafeRawBufferPointer, _ told: inout [WebSocketTold]) {
    if case .failed? = told.last { return }
    var new: [WebSocketTold] = []
    do throws(WebSocketError) {
        try machine.receive(bytes) { event in
            switch event {
            case .message(let opcode, let payload): new.append(.message(opcode, Array(payload)))
            case .ping(let payload): new.append(.ping(Array(payload)))
            case .pong(let payload): new.append(.pong(Array(payload)))
            case .close(let code, let reason): new.append(.close(code, reason))
            }
        }
    } catch {
        new.append(.failed(error))
    }
    told += new
}

/// WebSocket frames in either role: whole and cut alike, and what was told can be sent and is told again.
func fuzzWebSocket(_ bytes: UnsafeRawBufferPointer) {
    let pieces = Pieces(bytes)
    let role: WebSocketRole = bytes.first.map { $0 & 0x40 != 0 } == true ? .client : .server
    var limits = WebSocketLimits()
    limits.messageBytesMax = 2_000
    var toldWhole: [WebSocketTold] = []
    feed(WebSocketMachine(role: role, limits: limits), pieces.whole, &toldWhole)
    var toldCut: [WebSocketTold] = []
    let cut = WebSocketMachine(role: role, limits: limits)
    pieces.forEach { feed(cut, $0, &toldCut) }
    require(toldWhole == toldCut, "frames cut differ from frames whole")

    let sender = WebSocketMachine(role: role == .client ? .server : .client, makeMaskKey: { 0x9D42_17F3 })
    var out: [UInt8] = []
    var expected: [WebSocketTold] = []
    for event in toldWhole {
        switch event {
        case .message(let opcode, let payload):
            if payload.count.isMultiple(of: 2) {
                sender.appendMessage(opcode, payload, to: &out)
            } else {
                sender.appendMessage(opcode, to: &out) {
                    $0 += payload
                    return true
                }
            }
        case .ping(let payload): payload.withUnsafeBytes { sender.appendPing($0, to: &out) }
        case .pong(let payload): payload.withUnsafeBytes { sender.appendPong($0, to: &out) }
        case .close(let code, let reason): sender.appendClose(code: code, reason: reason, to: &out)
        case .failed: continue
        }
        expected.append(event)
    }
    var again: [WebSocketTold] = []
    out.withUnsafeBytes { feed(WebSocketMachine(role: role), $0, &again) }
    require(again == expected, "what was told is not told again when it is sent")
}

// MARK: BLIP

/// BLIP: frames as they come, frames with a right checksum, and a conversation that the input directs.
func fuzzBLIP(_ bytes: UnsafeRawBufferPointer) {
    guard let mode = bytes.first else { return }
    let rest = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
    switch mode % 3 {
    case 0: feedFrames(rest, rightChecksums: false)
    case 1: feedFrames(rest, rightChecksums: true)
    default: converse(rest)
    }
}

/// Cuts the input into frames (a length of two bytes before each) and feeds them to two receivers: one is given each
/// frame in a buffer that ends with it, the other from the input itself. Both must tell the same.
private func feedFrames(_ input: UnsafeRawBufferPointer, rightChecksums: Bool) {
    var limits = BLIPLimits()
    limits.messageBytesMax = 4_000
    limits.inflatedFrameBytesMax = 20_000
    limits.openMessagesMax = 4
    limits.openBytesMax = 10_000
    limits.openBytesSoftMax = 5_000
    limits.unansweredRequestsMax = 8
    let a = BLIPConnection(limits: limits)
    let b = BLIPConnection(limits: limits)
    for connection in [a, b] {
        for tag in 0..<4 {
            connection.send(BLIPOutgoing(isNoReply: tag == 2), tag: UInt64(tag), streamsResponse: tag == 3)
        }
        var out: [UInt8] = []
        while connection.appendNextFrame(to: &out) {}
    }
    var crc: UInt32 = 0xFFFF_FFFF
    var position = 0
    while position + 2 <= input.count {
        let length = min(Int(input[position]) | Int(input[position + 1] & 3) << 8, input.count - position - 2)
        var frame = Array(input[(position + 2)..<(position + 2 + length)])
        position += 2 + length
        if rightChecksums, frame.count >= 2, frame[0] < 0x80, frame[1] & 0x88 == 0, frame[1] & 7 < 3 {
            for byte in frame[2...] {
                crc ^= UInt32(byte)
                for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
            }
            let value = ~crc
            frame += [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> UInt32($0)) }
        }
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: frame.count, alignment: 1)
        copy.copyBytes(from: frame)
        let toldA = blipTold(a, UnsafeRawBufferPointer(copy))
        copy.deallocate()
        let toldB = frame.withUnsafeBytes { blipTold(b, $0) }
        require(toldA == toldB, "two receivers of the same frames differ")
        require(a.hasFramesToSend == b.hasFramesToSend, "two receivers of the same frames answer differently")
        if case .message(_, let number)? = toldA.first { _ = a.reply(to: number) && b.reply(to: number) }
        var outA: [UInt8] = []
        var outB: [UInt8] = []
        while a.appendNextFrame(to: &outA) {}
        while b.appendNextFrame(to: &outB) {}
        require(outA == outB, "two receivers of the same frames send different ones")
        if case .failed? = toldA.last { return }
    }
}

private enum BLIPTold: Equatable {
    case message([UInt8], number: UInt64)
    case response([UInt8], tag: UInt64)
    case part([UInt8], tag: UInt64)
    case failed(BLIPError)
}

private func blipTold(_ connection: BLIPConnection, _ frame: UnsafeRawBufferPointer) -> [BLIPTold] {
    do throws(BLIPError) {
        return try connection.receive(frame).map { event in
            switch event {
            case .request(let message): return .message(flattened(message), number: message.number)
            case .response(let tag, let message): return .response(flattened(message), tag: tag)
            case .responsePart(let tag, let bytes):
                // Half of it stays, as with an owner that is slow.
                connection.consume(bytes.count / 2, ofResponseTo: tag)
                return .part(bytes, tag: tag)
            }
        }
    } catch {
        return [.failed(error)]
    }
}

/// Everything of a message in one array; reads properties in every way on the way.
private func flattened(_ message: BLIPMessage) -> [UInt8] {
    for (name, _) in message.properties.pairs {
        _ = message.properties[name]
        _ = message.properties.int(name)
        _ = message.properties.bool(name)
    }
    _ = message.error
    let flags: [UInt8] = [message.isUrgent ? 1 : 0, message.isNoReply ? 1 : 0]
    return flags + message.properties.pairs.flatMap { Array("\($0.name)\u{0}\($0.value)\u{0}".utf8) } + message.body
}

/// Equality without the coverage that `==` would report for each byte.
private func isSame(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    a.count == b.count && memcmp(a, b, a.count) == 0
}

/// The input from a position on, over and over.
private func body(_ size: Int, from input: UnsafeRawBufferPointer, at position: Int) -> [UInt8] {
    var body: [UInt8] = []
    body.reserveCapacity(size + input.count)
    body.append(contentsOf: UnsafeRawBufferPointer(rebasing: input[position...].prefix(size)))
    while body.count < size {
        body.append(contentsOf: UnsafeRawBufferPointer(rebasing: input.prefix(size - body.count)))
    }
    return body
}

/// Two ends talk as the input says: who acts, what is sent, in which order frames move. Everything must arrive once.
private func converse(_ input: UnsafeRawBufferPointer) {
    let ends = [BLIPConnection(), BLIPConnection()]
    var wire: [[[UInt8]]] = [[], []]
    var sent: [[[UInt8]]] = [[], []]
    var arrived = [0, 0]
    var answered = [0, 0]
    var awaited = [0, 0]
    var bytesSent = 0

    func move(to side: Int) {
        guard !wire[side].isEmpty else { return }
        let frame = wire[side].removeFirst()
        let events: [BLIPEvent]
        do {
            events = try frame.withUnsafeBytes { try ends[side].receive($0) }
        } catch {
            fatalError("fuzz: an end refuses what the other sent: \(error)")
        }
        for event in events {
            switch event {
            case .request(let message):
                arrived[side] += 1
                let index = message.properties.int("i") ?? -1
                require(sent[1 - side].indices.contains(index), "a request that was not sent")
                require(isSame(message.body, sent[1 - side][index]), "a request that was changed")
                if !message.isNoReply {
                    require(
                        ends[side].reply(
                            BLIPOutgoing(body: message.body, isCompressed: index % 2 == 0), to: message.number),
                        "a request cannot be answered")
                }
            case .responsePart: fatalError("fuzz: a response in parts, which nobody asked for")
            case .response(let tag, let message):
                answered[side] += 1
                require(isSame(message.body, sent[side][Int(tag)]), "a response that was changed")
            }
        }
    }

    func produce(from side: Int) {
        var frame: [UInt8] = []
        guard ends[side].appendNextFrame(to: &frame) else { return }
        require(frame.count <= WireLimits.blipBigFrameBytes, "a frame is too long")
        wire[1 - side].append(frame)
    }

    for (position, byte) in input.enumerated() {
        let side = Int(byte & 1)
        switch byte >> 1 & 3 {
        case 0: produce(from: side)
        case 1: move(to: side)
        default:
            let size = Int(byte >> 4) * (byte & 8 == 0 ? 40 : 9_000)
            // Enough for one message to wait for acknowledgements, and quick.
            guard sent[side].count < 20, bytesSent + size <= 300_000 else { continue }
            bytesSent += size
            let body = body(size, from: input, at: position)
            let isNoReply = byte & 0x30 == 0x30
            if !isNoReply { awaited[side] += 1 }
            ends[side].send(
                BLIPOutgoing(
                    properties: ["i": String(sent[side].count)], body: body, isUrgent: byte & 0x20 != 0,
                    isNoReply: isNoReply, isCompressed: byte & 0x10 != 0),
                tag: UInt64(sent[side].count))
            sent[side].append(body)
        }
    }
    while ends.contains(where: \.hasFramesToSend) || wire.contains(where: { !$0.isEmpty }) {
        for side in 0...1 {
            produce(from: side)
            move(to: side)
        }
    }
    for side in 0...1 {
        require(arrived[1 - side] == sent[side].count, "a request did not arrive")
        require(answered[side] == awaited[side], "a response did not arrive")
        require(ends[side].queuedBytes == 0, "something is left in the queue")
    }
}
