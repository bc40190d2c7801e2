import KithDocuments
import Testing

@testable import KithTrust

@Suite("Pairing by a number")
struct PairingTests {
    private static let tablet = NodeID(subjectPublicKeyHash: (0..<32).map { UInt8($0) })
    private static let kitchen = NodeID(subjectPublicKeyHash: (32..<64).map { UInt8($0) })
    private static let attacker = NodeID(subjectPublicKeyHash: (64..<96).map { UInt8($0) })

    private static func fill(_ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: 32) }

    /// Two sessions at the ends of one connection.
    private struct Pair {
        var asking: PairingSession
        var asked: PairingSession

        init(
            _ a: NodeID = PairingTests.tablet, _ b: NodeID = PairingTests.kitchen, session: UInt8 = 0xaa,
            nonces: (UInt8, UInt8) = (1, 2)
        ) {
            asking = PairingSession(
                role: .initiator, ownID: a, ownName: "tablet", peerID: b, exporter: fill(session),
                nonce: fill(nonces.0))
            asked = PairingSession(
                role: .responder, ownID: b, ownName: "kitchen-pi", peerID: a, exporter: fill(session),
                nonce: fill(nonces.1))
        }

        /// Carries everything over until both are silent, in pieces of this size.
        mutating func settle(pieces: Int = .max) {
            while true {
                let (toAsked, toAsking) = (asking.takeOutput(), asked.takeOutput())
                if toAsked.isEmpty, toAsking.isEmpty { return }
                deliver(toAsked, to: &asked, pieces)
                deliver(toAsking, to: &asking, pieces)
            }
        }

        private func deliver(_ bytes: [UInt8], to session: inout PairingSession, _ pieces: Int) {
            var rest = bytes[...]
            while !rest.isEmpty {
                let piece = Array(rest.prefix(pieces))
                rest = rest.dropFirst(pieces)
                piece.withUnsafeBytes { session.receive($0) }
            }
        }
    }

    private static func number(_ session: PairingSession) -> ComparisonNumber? {
        switch session.state {
        case .comparing(let number), .waitingForPeer(let number): number
        default: nil
        }
    }

    /// A pair whose people are asked whether it is the same.
    private static func comparing(pieces: Int = .max) -> Pair {
        var pair = Pair()
        pair.settle(pieces: pieces)
        pair.asked.accept()
        pair.settle(pieces: pieces)
        return pair
    }

    @Test("both screens show the same number, and both are paired when both people say so", arguments: [Int.max, 1, 7])
    func agree(pieces: Int) {
        var pair = Pair()
        pair.settle(pieces: pieces)
        #expect(pair.asked.state == .waiting && pair.asking.state == .waiting)
        #expect(pair.asked.peerName == "tablet")
        pair.asked.accept()
        pair.settle(pieces: pieces)
        let number = Self.number(pair.asked)
        #expect(number != nil && number == Self.number(pair.asking))
        #expect(pair.asking.peerName == "kitchen-pi")
        pair.asking.answer(same: true)
        pair.settle(pieces: pieces)
        #expect(pair.asking.state == .waitingForPeer(number!))
        pair.asked.answer(same: true)
        pair.settle(pieces: pieces)
        #expect(pair.asked.state == .agreed && pair.asking.state == .agreed)
        pair.asked.stored()
        pair.settle(pieces: pieces)
        #expect(pair.asked.state == .stored && pair.asking.state == .agreed)
        pair.asking.stored()
        pair.settle(pieces: pieces)
        #expect(pair.asked.state == .paired(isConfirmed: true) && pair.asking.state == .paired(isConfirmed: true))
    }

    @Test("the values that the protocol's page gives")
    func vectors() {
        #expect(
            Self.hex(PairingTranscript.commitment(nonce: Self.fill(1), initiator: Self.tablet)) == Self.commitment)
        let number = PairingTranscript.number(
            session: Self.fill(0xaa), initiator: Self.tablet, responder: Self.kitchen, initiatorNonce: Self.fill(1),
            responderNonce: Self.fill(2))
        #expect(number.digits == Self.digits && number.words == Self.words)
        #expect(Self.number(Self.comparing().asking) == number)
        #expect(ComparisonNumber(0).description == "000 000   acorn-acorn-acorn")
        #expect(ComparisonNumber(999_999).description == "999 999   zebra-zebra-zebra")
        #expect(ComparisonNumber(10_203).description == "010 203   amber-anchor-apple")
        #expect(PairingMessage.same.bytes == [0, 13] + Array(#"{"same":true}"#.utf8))
    }

    private static let commitment = "95cd123b5e91a3402fa66d1607a025f6d497d995a0bc0baab66b22d61d86e724"
    private static let digits = "901 264"
    private static let words = "tablet-bottle-monkey"

    private static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    @Test("the number changes with either key, either nonce, the TLS session and the side that asked")
    func bound() {
        let base = Pair()
        var variants = [
            base, Pair(Self.attacker), Pair(Self.tablet, Self.attacker), Pair(session: 0xab), Pair(nonces: (3, 2)),
            Pair(nonces: (1, 3)), Pair(Self.kitchen, Self.tablet), Pair(nonces: (2, 1)),
        ]
        for index in variants.indices {
            variants[index].settle()
            variants[index].asked.accept()
            variants[index].settle()
        }
        let numbers = variants.map { Self.number($0.asking) }
        #expect(!numbers.contains(nil))
        #expect(Set(numbers).count == variants.count)
    }

    @Test("the words are a hundred, and no two begin alike")
    func wordList() {
        #expect(ComparisonWords.all.count == 100)
        #expect(Set(ComparisonWords.all.map { $0.prefix(3) }).count == 100)
        #expect(ComparisonWords.all.allSatisfy { $0.utf8.allSatisfy { (97...122).contains($0) } })
    }

    @Test("a machine in the middle makes the two screens differ")
    func machineInTheMiddle() {
        // It ends both connections itself, with its own key, and passes on whatever it likes.
        var front = Pair(Self.tablet, Self.attacker, session: 0xa1, nonces: (1, 9))
        var back = Pair(Self.attacker, Self.kitchen, session: 0xa2, nonces: (9, 2))
        front.settle()
        back.settle()
        back.asked.accept()
        front.asked.accept()
        front.settle()
        back.settle()
        let (shownThere, shownHere) = (Self.number(back.asked), Self.number(front.asking))
        #expect(shownThere != nil && shownHere != nil && shownThere != shownHere)
        front.asking.answer(same: false)
        back.asked.answer(same: false)
        front.settle()
        #expect(front.asking.state == .failed(.different, byPeer: false))
        #expect(front.asked.state == .failed(.different, byPeer: true))
        #expect(back.asked.state == .failed(.different, byPeer: false))
    }

    @Test("who reveals another nonce than the one it was bound to is refused before any number is shown")
    func changedNonce() {
        var pair = Pair()
        pair.settle()
        pair.asked.accept()
        _ = pair.asked.takeOutput()
        PairingMessage.reveal(nonce: Self.fill(7)).bytes.withUnsafeBytes { pair.asked.receive($0) }
        #expect(pair.asked.state == .failed(.broken, byPeer: false))
        pair.settle()
        #expect(pair.asking.state == .failed(.broken, byPeer: true))
    }

    @Test(
        "a No on either side ends it on both, also after the other has said Yes", arguments: [true, false],
        [true, false])
    func no(atAsking: Bool, otherFirst: Bool) {
        var pair = Self.comparing()
        if otherFirst {
            if atAsking { pair.asked.answer(same: true) } else { pair.asking.answer(same: true) }
            pair.settle()
        }
        if atAsking { pair.asking.answer(same: false) } else { pair.asked.answer(same: false) }
        pair.settle()
        #expect(pair.asking.state == .failed(.different, byPeer: !atAsking))
        #expect(pair.asked.state == .failed(.different, byPeer: atAsking))
        // What comes later changes nothing.
        pair.asking.answer(same: true)
        pair.asked.answer(same: true)
        pair.asked.stored()
        pair.settle()
        #expect(pair.asking.state.isOver && pair.asked.state.isOver)
    }

    @Test("a person who does not want to pair declines without showing anything")
    func declined() {
        var pair = Pair()
        pair.settle()
        pair.asked.fail(.declined)
        pair.settle()
        #expect(pair.asking.state == .failed(.declined, byPeer: true))
    }

    @Test("a lost connection pairs nobody before both have said Yes, and is told where one side has stored")
    func lost() {
        var pair = Self.comparing()
        pair.asking.connectionLost()
        #expect(pair.asking.state == .lost)

        pair = Self.comparing()
        pair.asking.answer(same: true)
        pair.asking.connectionLost()
        #expect(pair.asking.state == .lost)

        pair = Self.comparing()
        pair.asking.answer(same: true)
        pair.asked.answer(same: true)
        pair.settle()
        pair.asking.stored()
        pair.asking.connectionLost()
        pair.asked.connectionLost()
        #expect(pair.asking.state == .paired(isConfirmed: false))
        #expect(pair.asked.state == .lost)
    }

    @Test("no order of messages and answers reaches a pair without a Yes of this side's person")
    func anyOrder() {
        let messages: [PairingMessage] = [
            .hello(
                name: "tablet", commitment: PairingTranscript.commitment(nonce: Self.fill(1), initiator: Self.tablet)),
            .accepted(name: "kitchen-pi", nonce: Self.fill(2)), .reveal(nonce: Self.fill(1)), .same, .paired,
        ]
        func play(_ session: PairingSession, _ depth: Int) {
            switch session.state {
            case .agreed, .stored, .paired, .waitingForPeer:
                Issue.record("\(session.role) came to \(session.state) without an answer")
            default: break
            }
            guard depth > 0, !session.state.isOver else { return }
            for message in messages {
                var next = session
                message.bytes.withUnsafeBytes { next.receive($0) }
                play(next, depth - 1)
            }
            var accepted = session
            accepted.accept()
            accepted.stored()
            play(accepted, depth - 1)
        }
        let pair = Pair()
        play(pair.asking, 6)
        play(pair.asked, 6)
    }

    @Test("no order of messages and answers reaches a pair without the other side's word that its person said Yes")
    func anyOrderWithoutTheirYes() {
        let messages: [PairingMessage] = [
            .hello(
                name: "tablet", commitment: PairingTranscript.commitment(nonce: Self.fill(1), initiator: Self.tablet)),
            .accepted(name: "kitchen-pi", nonce: Self.fill(2)), .reveal(nonce: Self.fill(1)), .paired,
        ]
        func play(_ session: PairingSession, _ depth: Int) {
            switch session.state {
            case .agreed, .stored, .paired: Issue.record("\(session.role) came to \(session.state) alone")
            default: break
            }
            guard depth > 0, !session.state.isOver else { return }
            for message in messages {
                var next = session
                message.bytes.withUnsafeBytes { next.receive($0) }
                play(next, depth - 1)
            }
            for step in 0..<3 {
                var next = session
                switch step {
                case 0: next.accept()
                case 1: next.answer(same: true)
                default: next.stored()
                }
                play(next, depth - 1)
            }
        }
        let pair = Pair()
        play(pair.asking, 5)
        play(pair.asked, 5)
    }

    @Test("what is no message of pairing ends it, and bytes are not kept without bound")
    func badMessages() {
        let bad: [[UInt8]] = [
            [0xff, 0xff], [0, 2] + Array("[]".utf8), [0, 2] + Array("{}".utf8), [0, 1] + Array("x".utf8),
            Self.framed(#"{"kith_pair":2,"name":"x","commitment":"\#(String(repeating: "0", count: 64))"}"#),
            Self.framed(#"{"kith_pair":1,"name":"x","commitment":"00"}"#),
            Self.framed(#"{"kith_pair":1,"name":"a\u001bb","commitment":"\#(String(repeating: "0", count: 64))"}"#),
            Self.framed(#"{"kith_pair":1,"name":"x","commitment":"\#(String(repeating: "G", count: 64))"}"#),
            Self.framed(#"{"same":false}"#), PairingMessage.same.bytes, PairingMessage.paired.bytes,
        ]
        for bytes in bad {
            var pair = Pair()
            bytes.withUnsafeBytes { pair.asked.receive($0) }
            #expect(pair.asked.state == .failed(.broken, byPeer: false), "\(String(decoding: bytes, as: UTF8.self))")
            for _ in 0..<100 { bytes.withUnsafeBytes { pair.asked.receive($0) } }
            #expect(pair.asked.bufferedByteCount == 0)
        }
        var pair = Pair()
        Self.framed(#"{"end":"a reason of a later version"}"#).withUnsafeBytes { pair.asking.receive($0) }
        #expect(pair.asking.state == .failed(.cancelled, byPeer: true))
    }

    private static func framed(_ text: String) -> [UInt8] {
        [UInt8(text.utf8.count >> 8), UInt8(text.utf8.count & 255)] + Array(text.utf8)
    }
}
