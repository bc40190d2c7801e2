import KithDocuments
import Testing

@testable import KithTrust

@Suite("Pairing by an invitation")
struct InvitationTests {
    private static let tablet = NodeID(subjectPublicKeyHash: (0..<32).map { UInt8($0) })
    private static let kitchen = NodeID(subjectPublicKeyHash: (32..<64).map { UInt8($0) })
    private static let attacker = NodeID(subjectPublicKeyHash: (64..<96).map { UInt8($0) })
    private static let terms: JSONValue = ["access": "read"]
    // Made once: each costs a moment.
    private static let right = Result { () throws in try InvitationCode(value: 7_482_913).secret() }
    private static let wrong = Result { () throws in try InvitationCode(value: 7_482_914).secret() }

    private static func fill(_ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: 32) }

    private static func session(
        _ role: InvitationSession.Role, _ own: NodeID, _ peer: NodeID, code: Result<InvitationSecret, any Error>? = nil,
        exporter: UInt8 = 0xaa, random: UInt8 = 1
    ) throws -> InvitationSession {
        try InvitationSession(
            role: role, secret: (code ?? right).get(), ownID: own, ownName: role == .host ? "kitchen-pi" : "tablet",
            peerID: peer, exporter: fill(exporter), random: fill(random))
    }

    /// Two sessions at the ends of one connection.
    private struct Pair {
        var host: InvitationSession
        var guest: InvitationSession

        init(
            guestCode: Result<InvitationSecret, any Error>? = nil, guestExporter: UInt8 = 0xaa
        ) throws {
            host = try session(.host, kitchen, tablet)
            guest = try session(.guest, tablet, kitchen, code: guestCode, exporter: guestExporter, random: 2)
        }

        /// Carries everything over until both are silent, in pieces of this size.
        mutating func settle(pieces: Int = .max) {
            while true {
                let (toHost, toGuest) = (guest.takeOutput(), host.takeOutput())
                if toHost.isEmpty, toGuest.isEmpty { return }
                InvitationTests.deliver(toHost, to: &host, pieces)
                InvitationTests.deliver(toGuest, to: &guest, pieces)
                guest.prove()
            }
        }
    }

    private static func deliver(_ bytes: [UInt8], to session: inout InvitationSession, _ pieces: Int = .max) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = Array(rest.prefix(pieces))
            rest = rest.dropFirst(pieces)
            piece.withUnsafeBytes { session.receive($0) }
        }
    }

    @Test("the text of a QR code is read as it was written, and is code enough where it says nothing else")
    func uri() throws {
        let code = InvitationCode(value: 7_482_913)
        let whole = InvitationURI(
            code: code, shortID: "K7QX-2M9F", addresses: ["192.168.1.20:4984", "[fd00::2]:4984"], name: "küche & bad")
        #expect(
            whole.text
                == "kith:join/1?code=\(code.text)&id=K7QX-2M9F&at=192.168.1.20:4984&at=%5Bfd00::2%5D:4984"
        )
        #expect(try InvitationURI(parsing: whole.text) == whole)
        let short = InvitationURI(code: code, shortID: "K7QX-2M9F", addresses: ["10.0.0.2:4984"], name: "küche & bad")
        #expect(short.text.hasSuffix("&at=10.0.0.2:4984&name=k%C3%BCche%20%26%20bad"))
        #expect(try InvitationURI(parsing: " KITH:JOIN" + short.text.dropFirst(9)) == short)
        #expect(short.text.utf8.count <= TrustLimits.invitationURIBytesWanted)
        for text in [code.text, "kith:join/1?code=\(code.text)", "kith:join/1?later=x&code=\(code.text)&name=%07"] {
            #expect(try InvitationURI(parsing: text) == InvitationURI(code: code))
        }
        // The code is in no text that is printed by mistake.
        #expect(!"\(whole) \(String(reflecting: whole))".contains(code.text))
        for wrong in [
            "kith:join/2?code=\(code.text)", "kith:join/1?", "kith:join/1?id=K7QX-2M9F", "kith:\(code.text)",
            "kith:join/1?code=\(code.text)&code=\(code.text)", "kith:join/1?code=\(code.text)&id=K7QX",
            "kith:join/1?code=\(code.text)&at=%+1", "kith:join/1?code=\(code.text)&at=%4",
            "kith:join/1?code=\(code.text)&x", "kith:join/1?code=\(code.text)&at=%FF",
            "kith:join/1?code=\(code.text)" + String(repeating: "&at=a", count: 5),
            "kith:join/1?code=\(code.text)&x=" + String(repeating: "x", count: 1024), "", "kith:",
        ] {
            expectError(.badRequest) { _ = try InvitationURI(parsing: wrong) }
        }
    }

    @Test("with the right code each side learns who the other is, and both are paired", arguments: [Int.max, 1, 7])
    func right(pieces: Int) throws {
        var pair = try Pair()
        pair.settle(pieces: pieces)
        #expect(pair.host.state == .proved && pair.host.peerName == "tablet")
        #expect(pair.guest.state == .proving && pair.guest.peerName == nil)
        pair.host.offer(Self.terms)
        pair.settle(pieces: pieces)
        #expect(pair.host.state == .offered && pair.guest.state == .agreed)
        #expect(pair.guest.peerName == "kitchen-pi" && pair.guest.terms == Self.terms)
        pair.guest.stored()
        pair.settle(pieces: pieces)
        #expect(pair.host.state == .agreed && pair.guest.state == .stored)
        pair.host.stored()
        pair.settle(pieces: pieces)
        #expect(pair.host.state == .paired(isConfirmed: true) && pair.guest.state == .paired(isConfirmed: true))
    }

    @Test("with a wrong code nothing comes of it, and the guest is told how many tries are left")
    func wrong() throws {
        var pair = try Pair(guestCode: Self.wrong)
        pair.settle()
        #expect(pair.host.state == .failed(.wrong, byPeer: false, triesLeft: nil))
        #expect(pair.guest.state == .proving)
        pair.host.refuse(triesLeft: 2)
        pair.settle()
        #expect(pair.guest.state == .failed(.wrong, byPeer: true, triesLeft: 2))
    }

    @Test("the inviting side sends no proof before it has a right one, so nobody can test guesses against it")
    func nothingToTest() throws {
        var host = try Self.session(.host, Self.kitchen, Self.attacker)
        var attacker = try Self.session(.guest, Self.attacker, Self.kitchen, code: Self.wrong, random: 3)
        Self.deliver(attacker.takeOutput(), to: &host)
        var answer = host.takeOutput()
        let share = try InvitationMessage.take(from: &answer)
        guard case .share = share else { return #expect(Bool(false), "the host sent \(String(describing: share))") }
        #expect(answer.isEmpty)
        // It offers nothing either, whatever is asked of it.
        host.offer(Self.terms)
        host.stored()
        let output = host.takeOutput()
        #expect(output.isEmpty && host.state == .proving)
        // Nor after a wrong one.
        Self.deliver(InvitationMessage.proof(Self.fill(3)).bytes, to: &host)
        host.offer(Self.terms)
        host.refuse(triesLeft: 1)
        var end = host.takeOutput()
        let message = try InvitationMessage.take(from: &end)
        #expect(message == .end(.wrong, triesLeft: 1) && end.isEmpty)
    }

    @Test("somebody in between who passes everything on has two TLS sessions, and proves nothing in either")
    func inBetween() throws {
        var pair = try Pair(guestExporter: 0xbb)
        pair.settle()
        #expect(pair.host.state == .failed(.wrong, byPeer: false, triesLeft: nil))
        // Nor when the exporters were the same: the keys are not those that the two sides see.
        var host = try Self.session(.host, Self.kitchen, Self.attacker)
        var guest = try Self.session(.guest, Self.tablet, Self.attacker, random: 2)
        Self.deliver(guest.takeOutput(), to: &host)
        Self.deliver(host.takeOutput(), to: &guest)
        guest.prove()
        Self.deliver(guest.takeOutput(), to: &host)
        #expect(host.state == .failed(.wrong, byPeer: false, triesLeft: nil))
    }

    @Test("a host that does not know the code is not trusted by the guest")
    func falseHost() throws {
        var guest = try Self.session(.guest, Self.tablet, Self.attacker, random: 2)
        var host = try Self.session(.host, Self.attacker, Self.tablet, code: Self.wrong)
        Self.deliver(guest.takeOutput(), to: &host)
        Self.deliver(host.takeOutput(), to: &guest)
        // Nothing that a guess could be tested against goes out before this side wants it.
        #expect(guest.state == .challenged)
        let before = guest.takeOutput()
        guest.prove()
        let after = guest.takeOutput()
        #expect(before.isEmpty && !after.isEmpty)
        let offer = InvitationMessage.offer(proof: Self.fill(9), name: "kitchen-pi", terms: Self.terms)
        Self.deliver(offer.bytes, to: &guest)
        #expect(guest.state == .failed(.broken, byPeer: false, triesLeft: nil))
    }

    @Test("a lost connection leaves nobody trusted on the side that has not stored it")
    func lost() throws {
        var pair = try Pair()
        pair.settle()
        pair.host.offer(Self.terms)
        pair.settle()
        pair.guest.stored()
        pair.guest.connectionLost()
        pair.host.connectionLost()
        #expect(pair.guest.state == .paired(isConfirmed: false) && pair.host.state == .lost)
    }

    @Test(
        "whatever comes in whatever order: nobody agrees without a right proof, and no message is kept beyond its size")
    func anyOrder() throws {
        let random: [UInt8] = Array("kith".utf8)
        let messages: [[UInt8]] = [
            InvitationMessage.join(name: "x", share: try Self.session(.guest, Self.attacker, Self.kitchen).peerShare)
                .bytes,
            InvitationMessage.share(try Self.session(.host, Self.attacker, Self.tablet, random: 5).peerShare).bytes,
            InvitationMessage.proof(Self.fill(1)).bytes,
            InvitationMessage.offer(proof: Self.fill(1), name: "x", terms: Self.terms).bytes,
            InvitationMessage.paired.bytes, InvitationMessage.end(.wrong, triesLeft: 1).bytes, [0xff, 0xff],
            [0, 2] + random, [0x04, 0x00] + [UInt8](repeating: 0x20, count: 600),
        ]
        for role in [InvitationSession.Role.host, .guest] {
            for first in messages {
                for second in messages {
                    for third in messages {
                        var session = try Self.session(role, role == .host ? Self.kitchen : Self.tablet, Self.attacker)
                        for message in [first, second, third] {
                            Self.deliver(message, to: &session)
                            switch session.state {
                            case .proved, .offered, .agreed, .stored, .paired:
                                Issue.record("\(role) came to \(session.state)")
                            default: break
                            }
                            #expect(session.bufferedByteCount <= PairingFrame.bytesMax + 2)
                        }
                    }
                }
            }
        }
    }

    @Test("a code is read as people type it, and shown to nobody who prints the value")
    func codes() throws {
        let code = InvitationCode(value: 7_482_913)
        #expect(code.text == "7-harbor-desert-bridge")
        for text in [
            "7-harbor-desert-bridge", "7 Harbor desert BRIDGE", " 7-har-des-bri ", "7. harbor, desert, bridge",
        ] {
            #expect(try InvitationCode(parsing: text) == code)
        }
        for text in [
            "", "7", "7-harbor-desert", "harbor-desert-bridge-7", "77-harbor-desert-bridge", "7-ha-desert-bridge",
            "7-harborx-desert-bridge", "٧-harbor-desert-bridge", "7-harbor-desert-bridge-stone",
            String(repeating: "7", count: 10_000),
        ] {
            let error = #expect(throws: KithError.self) { try InvitationCode(parsing: text) }
            #expect(error?.code == .badRequest)
        }
        #expect(!"\(code) \(String(reflecting: code))".contains("harbor"))
        var dumped = ""
        dump(code, to: &dumped)
        #expect(!dumped.contains("482"))
        for _ in 0..<100 {
            let one = try InvitationCode.random()
            #expect(try InvitationCode(parsing: one.text) == one)
        }
        // Two are hardly ever the same.
        #expect(
            try InvitationCode.random() != InvitationCode.random() || InvitationCode.random() != InvitationCode.random()
        )
    }
}

extension InvitationSession {
    /// The share that this session has sent, for messages out of turn.
    fileprivate var peerShare: [UInt8] {
        var copy = self
        var output = copy.takeOutput()
        if case .join(_, let share) = try? InvitationMessage.take(from: &output) { return share }
        return SPAKE2Tests.bytes(
            "04a56fa807caaa53a4d28dbb9853b9815c61a411118a6fe516a8798434751470f9"
                + "010153ac33d0d5f2047ffdb1a3e42c9b4e6be662766e1eeb4116988ede5f912c")
    }
}
