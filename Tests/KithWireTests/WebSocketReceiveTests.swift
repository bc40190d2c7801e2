import Testing

@testable import KithWire

@Suite("WebSocket: what comes in")
struct WebSocketReceiveTests {
    /// One connection: the frames of a client, and what must be told, however the bytes are cut.
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let frames: String
        let told: [WebSocketTold]
        var testDescription: String { name }
    }

    static func text(_ text: String) -> WebSocketTold { .message(.text, Array(text.utf8)) }

    /// Blocks of field case 45: frames with mask key 11 22 33 44.
    static let fragmentCases = [
        Case(
            name: "a ping between fragments, and a character cut at a fragment's border",
            frames: """
                01 83 11 22 33 44 79 47 5f
                89 82 11 22 33 44 61 52
                00 85 11 22 33 44 7d 4d 13 b4 8e
                80 82 11 22 33 44 89 a6
                """,
            told: [.ping([0x70, 0x70]), text("hello \u{1F604}")]),
        Case(
            name: "a close inside a fragmented message drops the message",
            frames: "01 83 11 22 33 44 70 40 50  88 82 11 22 33 44 12 ca", told: [.close(1000, "")]),
        Case(name: "a continuation without a start", frames: "80 81 11 22 33 44 69", told: [.failed(1002)]),
        Case(
            name: "a new message while one is unfinished",
            frames: "01 81 11 22 33 44 70  81 81 11 22 33 44 73", told: [.failed(1002)]),
        Case(name: "a fragmented ping", frames: "09 81 11 22 33 44 70", told: [.failed(1002)]),
        Case(name: "text that is not UTF-8", frames: "81 82 11 22 33 44 ee dc", told: [.failed(1007)]),
        Case(name: "a reserved bit", frames: "c1 81 11 22 33 44 70", told: [.failed(1002)]),
        Case(name: "a reserved opcode", frames: "83 81 11 22 33 44 70", told: [.failed(1002)]),
        Case(name: "an unmasked frame from a client", frames: "81 02 68 69", told: [.failed(1002)]),
        Case(
            name: "a length of 16 bits that needs 7", frames: "81 fe 00 03 11 22 33 44 70 40 50",
            told: [.failed(1002)]),
        Case(
            name: "a length with its top bit set", frames: "82 ff 80 00 00 00 00 00 00 00 11 22 33 44",
            told: [.failed(1002)]),
        Case(
            name: "an empty message and an empty last fragment",
            frames: "82 80 11 22 33 44  02 81 11 22 33 44 6b  80 80 11 22 33 44",
            told: [.message(.binary, []), .message(.binary, [0x7a])]),
    ]

    /// Field case 48: close frames.
    static let closeCases = [
        Case(name: "an empty close", frames: "88 80 11 22 33 44", told: [.close(nil, "")]),
        Case(name: "a close of one byte", frames: "88 81 11 22 33 44 12", told: [.failed(1002)]),
        Case(name: "code 1005", frames: "88 82 11 22 33 44 12 cf", told: [.failed(1002)]),
        Case(name: "code 1006", frames: "88 82 11 22 33 44 12 cc", told: [.failed(1002)]),
        Case(name: "code 999", frames: "88 82 11 22 33 44 12 c5", told: [.failed(1002)]),
        Case(
            name: "code 4001 with a reason", frames: "88 85 11 22 33 44 1e 83 51 3d 74", told: [.close(4001, "bye")]),
        Case(
            name: "a reason that is not UTF-8", frames: "88 83 11 22 33 44 12 ca cc", told: [.failed(1007)]),
        Case(
            name: "a close payload of 126 bytes",
            frames: "88 fe 00 7e 11 22 33 44 12 ca" + String(repeating: " 41 36 63 50", count: 31),
            told: [.failed(1002)]),
    ]

    static let moreCases = [
        Case(
            name: "a length of 64 bits that needs 16",
            frames: "82 ff 00 00 00 00 00 00 ff ff 11 22 33 44", told: [.failed(1002)]),
        Case(
            name: "2^62 bytes announced", frames: "82 ff 40 00 00 00 00 00 00 00 11 22 33 44", told: [.failed(1009)]),
        Case(name: "a reserved control opcode", frames: "8b 80 11 22 33 44", told: [.failed(1002)]),
        Case(
            name: "a continuation after the message ended",
            frames: "82 80 11 22 33 44 80 80 11 22 33 44", told: [.message(.binary, []), .failed(1002)]),
        Case(
            name: "text that ends inside a character", frames: "81 83 00 00 00 00 61 e2 82", told: [.failed(1007)]),
        Case(
            name: "text that goes wrong in its first fragment", frames: "01 82 00 00 00 00 c0 af",
            told: [.failed(1007)]),
        Case(
            name: "a surrogate in text", frames: "81 83 00 00 00 00 ed a0 80", told: [.failed(1007)]),
        Case(
            name: "binary need not be UTF-8", frames: "82 82 00 00 00 00 c0 af",
            told: [.message(.binary, [0xc0, 0xaf])]),
        Case(
            name: "nothing after a close is looked at", frames: "88 80 11 22 33 44 ff ff ff",
            told: [.close(nil, "")]),
        Case(
            name: "pongs that nobody asked for", frames: "8a 80 11 22 33 44 8a 81 00 00 00 00 41",
            told: [.pong([]), .pong([0x41])]),
        Case(
            name: "three pings between two fragments",
            frames: """
                02 81 00 00 00 00 01  89 80 00 00 00 00  89 81 00 00 00 00 02  89 80 00 00 00 00
                80 81 00 00 00 00 03
                """,
            told: [.ping([]), .ping([2]), .ping([]), .message(.binary, [1, 3])]),
    ]

    @Test("frames are told rightly however they are cut", arguments: fragmentCases + closeCases + moreCases)
    func cases(_ test: Case) {
        for feed in everyFeed(hex(test.frames)) {
            #expect(WebSocketMachine(role: .server).told(feed) == test.told)
        }
    }

    @Test("a stream that is cut off tells nothing that is not whole", arguments: fragmentCases + moreCases)
    func cutOff(_ test: Case) {
        let bytes = hex(test.frames)
        for count in 0..<bytes.count {
            let told = WebSocketMachine(role: .server).told([Array(bytes[..<count])])
            #expect(test.told.starts(with: told))
        }
    }

    @Test("every close code that may travel is taken, every other refused")
    func closeCodes() {
        for code in UInt16(0)...5100 {
            let frame: [UInt8] = [0x88, 0x82, 0, 0, 0, 0, UInt8(code >> 8), UInt8(code & 0xFF)]
            let isLegal =
                (1000...1003).contains(code) || (1007...1014).contains(code) || (3000...4999).contains(code)
            let told = WebSocketMachine(role: .server).told([frame])
            #expect(told == [isLegal ? .close(code, "") : .failed(1002)])
        }
    }

    @Test("the error stays the same at every later call")
    func errorStays() {
        let machine = WebSocketMachine(role: .server)
        #expect(machine.told([[0x83]]) == [.failed(1002)])
        #expect(machine.told([[0x81, 0x80, 0, 0, 0, 0]]) == [.failed(1002)])
    }

    @Test("a masked frame from a server is refused")
    func maskedFromServer() {
        #expect(WebSocketMachine(role: .client).told([hex("81 81 00 00 00 00 41")]) == [.failed(1002)])
    }

    @Test("the limit counts all fragments of a message, and its exact size is taken")
    func messageLimit() {
        var limits = WebSocketLimits()
        limits.messageBytesMax = 300
        let client = WebSocketMachine(role: .client)
        for (size, isTaken) in [(299, true), (300, true), (301, false)] {
            var frames: [UInt8] = []
            client.appendMessage(.binary, [UInt8](repeating: 1, count: size), to: &frames)
            let told = WebSocketMachine(role: .server, limits: limits).told([frames])
            #expect(told == [isTaken ? .message(.binary, [UInt8](repeating: 1, count: size)) : .failed(1009)])
        }
        // 200 + 100 + 1 bytes in fragments, unmasked, for a client.
        let start: [UInt8] = [0x02, 126, 0, 200] + [UInt8](repeating: 1, count: 200)
        let middle: [UInt8] = [0x00, 100] + [UInt8](repeating: 2, count: 100)
        let machine = WebSocketMachine(role: .client, limits: limits)
        #expect(machine.told([start + middle + [0x80, 1, 3]]) == [.failed(1009)])
    }

    @Test("a million empty fragments hold no memory and end in one message")
    func emptyFragments() {
        let machine = WebSocketMachine(role: .client)
        var told = machine.told([[0x02, 0x00]])
        let thousand = [UInt8](repeating: 0, count: 2_000)
        for _ in 0..<1_000 { told += machine.told([thousand]) }
        #expect(told.isEmpty)
        #expect(machine.isInsideMessage)
        #expect(machine.told([[0x80, 0x01, 0x07]]) == [.message(.binary, [7])])
        #expect(!machine.isInsideMessage)
    }

    @Test("a client gets a whole message without a copy: the buffer that was received")
    func noCopy() throws {
        let bytes: [UInt8] = [0x82, 0x03, 1, 2, 3]
        let machine = WebSocketMachine(role: .client)
        try bytes.withUnsafeBytes { buffer in
            try machine.receive(buffer) { event in
                guard case .message(_, let payload) = event else { return }
                #expect(payload.baseAddress == buffer.baseAddress.map { $0 + 2 })
            }
        }
    }

    @Test("every text is judged as the standard library judges it, cut anywhere")
    func utf8() {
        var random = SeededNumbers(3)
        let pieces: [[UInt8]] = [
            [0x61], [0xC2, 0x80], [0xE0, 0xA0, 0x80], [0xED, 0x9F, 0xBF], [0xEF, 0xBF, 0xBF], [0xF0, 0x90, 0x80, 0x80],
            [0xF4, 0x8F, 0xBF, 0xBF], [0xF4, 0x90, 0x80, 0x80], [0xC1, 0xBF], [0xE0, 0x9F, 0xBF], [0xED, 0xA0, 0x80],
            [0xF0, 0x8F, 0xBF, 0xBF], [0x80], [0xFF], [0xE2, 0x82], Array("plain ascii text".utf8),
        ]
        for _ in 0..<4_000 {
            let count = random.next() % 4
            let bytes = (0...count).flatMap { _ in pieces[Int(random.next() % UInt64(pieces.count))] }
            let isValid = String(validating: bytes, as: UTF8.self) != nil
            let cut = Int(random.next() % UInt64(bytes.count + 1))
            var checker = UTF8Checker()
            let first = bytes[..<cut].withUnsafeBytes { checker.take($0) }
            let second = first && bytes[cut...].withUnsafeBytes { checker.take($0) }
            #expect((second && checker.isAtBoundary) == isValid)
        }
    }
}
