import Testing

@testable import KithWire

@Suite("WebSocket: what goes out")
struct WebSocketSendTests {
    private func pair(_ sender: WebSocketRole) -> (sender: WebSocketMachine, receiver: WebSocketMachine) {
        var limits = WebSocketLimits()
        limits.messageBytesMax = 100_000
        return (
            WebSocketMachine(role: sender, makeMaskKey: { 0x4433_2211 }),
            WebSocketMachine(role: sender == .client ? .server : .client, limits: limits)
        )
    }

    @Test(
        "messages around each length's border arrive in both directions, cut anywhere near it",
        arguments: [0, 1, 7, 8, 9, 125, 126, 127, 65_535, 65_536], [WebSocketRole.client, .server])
    func lengths(count: Int, role: WebSocketRole) {
        var random = SeededNumbers(UInt64(count))
        let payload = random.bytes(count)
        let (sender, _) = pair(role)
        var out: [UInt8] = []
        sender.appendMessage(.binary, payload, to: &out)
        let header = (count < 126 ? 2 : count < 65_536 ? 4 : 10) + (role == .client ? 4 : 0)
        #expect(out.count == header + count)
        if count > 8, role == .client { #expect(Array(out[header...]) != payload) }
        for cut in Array(0...min(16, out.count)) + [out.count / 2, out.count] {
            let (_, receiver) = pair(role)
            #expect(
                receiver.told([Array(out[..<cut]), Array(out[cut...])]) == [.message(.binary, payload)])
        }
        if count < 1_000 {
            let (_, receiver) = pair(role)
            #expect(receiver.told(out.map { [$0] }) == [.message(.binary, payload)])
        }
    }

    @Test(
        "a payload written in place gives the same bytes as one that is handed over",
        arguments: [0, 1, 125, 126, 127, 16_384, 65_535, 65_536], [WebSocketRole.client, .server])
    func inPlace(count: Int, role: WebSocketRole) {
        let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7) }
        let (sender, _) = pair(role)
        var expected: [UInt8] = [0xAA, 0xBB]
        sender.appendMessage(.binary, payload, to: &expected)
        var out: [UInt8] = [0xAA, 0xBB]
        #expect(
            sender.appendMessage(.binary, to: &out) {
                $0 += payload
                return true
            })
        #expect(out == expected)
        #expect(!sender.appendMessage(.binary, to: &out) { _ in false })
        #expect(out == expected)
    }

    @Test("a BLIP frame is framed without a copy and arrives")
    func blip() throws {
        let (machine, receiver) = pair(.client)
        let connection = BLIPConnection()
        connection.send(BLIPOutgoing(properties: ["Profile": "rev"], body: [1, 2, 3]))
        var out: [UInt8] = []
        while machine.appendMessage(.binary, to: &out, writingPayload: { connection.appendNextFrame(to: &$0) }) {}
        let peer = BLIPConnection()
        var told: [BLIPEvent] = []
        for message in receiver.told([out]) {
            if case .message(.binary, let frame) = message { told += try peer.receive(frame: frame) }
        }
        #expect(told.first?.request?.properties == ["Profile": "rev"])
    }

    @Test("control frames arrive, and what is too long for one is cut at a character")
    func control() {
        for role in [WebSocketRole.client, .server] {
            let (sender, receiver) = pair(role)
            var out: [UInt8] = []
            sender.appendPing(to: &out)
            [UInt8](repeating: 5, count: 200).withUnsafeBytes { sender.appendPong($0, to: &out) }
            sender.appendClose(code: 1009, reason: String(repeating: "\u{20AC}", count: 60), to: &out)
            #expect(
                receiver.told([out]) == [
                    .ping([]), .pong([UInt8](repeating: 5, count: 125)),
                    .close(1009, String(repeating: "\u{20AC}", count: 41)),
                ])
        }
    }

    @Test("a close is sent once, and never with a code that may not travel")
    func close() {
        let (sender, receiver) = pair(.server)
        var out: [UInt8] = []
        sender.appendClose(code: 1006, to: &out)
        #expect(sender.hasSentClose)
        let once = out
        sender.appendClose(code: 1000, to: &out)
        #expect(out == once)
        #expect(receiver.told([out]) == [.close(1000, "")])
        out = []
        WebSocketMachine(role: .server).appendClose(code: nil, to: &out)
        #expect(out == [0x88, 0x00])
    }

    @Test("the callback may send: a pong goes out from inside it")
    func sendingInsideCallback() throws {
        let machine = WebSocketMachine(role: .server)
        var out: [UInt8] = []
        try hex("89 82 11 22 33 44 61 52").withUnsafeBytes { bytes in
            try machine.receive(bytes) { event in
                if case .ping(let payload) = event { machine.appendPong(payload, to: &out) }
            }
        }
        #expect(out == [0x8A, 2, 0x70, 0x70])
    }

    @Test("masking is the same from any offset and for any length")
    func masking() {
        var random = SeededNumbers(11)
        for count in 0...40 {
            let plain = random.bytes(count)
            let key = UInt32(truncatingIfNeeded: random.next())
            let expected = plain.indices.map { plain[$0] ^ UInt8(truncatingIfNeeded: key >> (UInt32($0 & 3) * 8)) }
            for cut in 0...count {
                var bytes = plain
                bytes.withUnsafeMutableBytes { buffer in
                    WebSocketMask.apply(key, offset: 0, to: .init(rebasing: buffer[..<cut]))
                    WebSocketMask.apply(key, offset: cut, to: .init(rebasing: buffer[cut...]))
                }
                #expect(bytes == expected)
            }
        }
    }
}
