import KithDocuments
import Testing

@testable import KithTrust

@Suite("Statements of keys")
struct StatementTests {
    private static func bytes(_ hex: String) -> [UInt8] {
        let digits = Array(hex.utf8.filter { $0 > 32 })
        return stride(from: 0, to: digits.count, by: 2).map {
            UInt8(String(decoding: digits[$0...$0 + 1], as: UTF8.self), radix: 16)!
        }
    }

    private func identity(_ folder: TemporaryFolder, _ name: String) throws -> NodeIdentity {
        try NodeIdentity.create(inFolder: folder.path + "/" + name, name: name)
    }

    @Test("the values of docs/protocol/trust.md are read as they are meant")
    func vectors() throws {
        let revocation = try TrustStatement(verifying: Self.bytes(StatementVectors.revocation))
        #expect(revocation.seconds == 1_790_000_000)
        #expect(revocation.reason == "left on the train")
        #expect(revocation.revoked?.subjectPublicKeyHash == [UInt8](0..<32))
        let rotation = try TrustStatement(verifying: Self.bytes(StatementVectors.rotation))
        #expect(rotation.signer == revocation.signer)
        #expect(rotation.signer.description == StatementVectors.signer)
        let successor = try #require(rotation.successor)
        #expect(successor.description == StatementVectors.successor)
        for (one, other) in [(rotation.signer, successor), (successor, rotation.signer)] {
            #expect(FingerprintWords.words(one, other).joined(separator: " ") == StatementVectors.words)
        }
    }

    @Test("whatever byte is another one, or missing, or too many: it is no statement, or its signature is wrong")
    func rejected() throws {
        for text in [StatementVectors.revocation, StatementVectors.rotation] {
            let whole = Self.bytes(text)
            for index in whole.indices {
                var changed = whole
                changed[index] ^= 1
                #expect(throws: KithError.self, "byte \(index)") { try TrustStatement(verifying: changed) }
                let cut = Array(whole.prefix(index))
                #expect(throws: KithError.self, "cut at \(index)") { try TrustStatement(verifying: cut) }
            }
            expectError(.protocolViolation) { try TrustStatement(verifying: whole + [0]) }
        }
        expectError(.protocolViolation) { try TrustStatement(verifying: []) }
        expectError(.protocolViolation) { try TrustStatement(verifying: [UInt8](repeating: 1, count: 100_000)) }
    }

    @Test("a reason is short text that changes nothing around it")
    func reasons() throws {
        let folder = TemporaryFolder()
        let one = try identity(folder, "a")
        let subject = NodeID(subjectPublicKeyHash: [UInt8](repeating: 9, count: 32))
        for reason in ["", "geklaut, 3. Mai", String(repeating: "ä", count: 100)] {
            #expect(try one.revocation(of: subject, reason: reason, seconds: 1).reason == reason)
        }
        for reason in [String(repeating: "x", count: 201), "two\nlines", "\u{1b}[31mred", "a\u{202e}b"] {
            expectError(.badRequest) { try one.revocation(of: subject, reason: reason, seconds: 1) }
        }
    }

    @Test("what is said under one key cannot be passed off as said under another")
    func otherKey() throws {
        let folder = TemporaryFolder()
        let (one, other) = (try identity(folder, "a"), try identity(folder, "b"))
        let subject = NodeID(subjectPublicKeyHash: [UInt8](repeating: 9, count: 32))
        var bytes = try one.revocation(of: subject, reason: "", seconds: 1).bytes
        let key = try other.revocation(of: subject, reason: "", seconds: 1).bytes[10..<101]
        bytes.replaceSubrange(10..<101, with: key)
        expectError(.notTrusted) { try TrustStatement(verifying: bytes) }
    }

    @Test("an exchange cut into any pieces ends for both with everything told")
    func exchange() throws {
        let folder = TemporaryFolder()
        let one = try identity(folder, "a")
        let subject = NodeID(subjectPublicKeyHash: [UInt8](repeating: 9, count: 32))
        let statement = try one.revocation(of: subject, reason: "r", seconds: 1)
        let instance = [UInt8](repeating: 7, count: TrustExchange.instanceByteCount)
        for size in [1, 3, 100, 10_000] {
            var sides = [
                TrustExchange(instance: instance, rotations: []), TrustExchange(instance: instance, rotations: []),
            ]
            var heard: [[TrustExchange.Step]] = [[], []]
            var isQuiet = false
            while !isQuiet {
                isQuiet = true
                for side in [0, 1] {
                    let bytes = sides[side].takeOutput()
                    for start in stride(from: 0, to: bytes.count, by: size) {
                        isQuiet = false
                        let piece = Array(bytes[start..<min(start + size, bytes.count)])
                        let steps = piece.withUnsafeBytes { sides[1 - side].receive($0) }
                        for step in steps {
                            heard[1 - side].append(step)
                            switch step {
                            case .introduced: sides[1 - side].tell(side == 0 ? [] : [statement])
                            case .told: sides[1 - side].confirm(isTrusted: side == 0)
                            case .stored: break
                            }
                        }
                    }
                }
            }
            let first = TrustExchange.Step.introduced(instance: instance, rotations: [])
            let ends = [
                [first, .told([]), .stored(isTrusted: true)],
                [first, .told([statement.bytes]), .stored(isTrusted: false)],
            ]
            #expect(heard == ends)
            #expect(sides.allSatisfy { $0.isDone && !$0.isBroken })
        }
    }

    @Test("nobody speaks of others where he says who he is")
    func introduction() {
        let instance = [UInt8](repeating: 7, count: TrustExchange.instanceByteCount)
        let (rotation, revocation) = (Self.bytes(StatementVectors.rotation), Self.bytes(StatementVectors.revocation))
        var bytes: [UInt8] = []
        for frame in [instance, revocation, rotation, []] {
            bytes += [UInt8(frame.count >> 8), UInt8(frame.count & 255)] + frame
        }
        var side = TrustExchange(instance: instance, rotations: [])
        let steps = bytes.withUnsafeBytes { side.receive($0) }
        #expect(steps == [.introduced(instance: instance, rotations: [rotation])])
    }

    @Test("who sends too much, too long or nothing of himself is cut off")
    func broken() {
        let instance = [UInt8](repeating: 7, count: TrustExchange.instanceByteCount)
        func frame(_ bytes: [UInt8]) -> [UInt8] { [UInt8(bytes.count >> 8), UInt8(bytes.count & 255)] + bytes }
        let one = frame([UInt8](repeating: 1, count: 100))
        let introduced = frame(instance) + frame([])
        let cases: [[UInt8]] = [
            frame([]), frame([1]), [0xff, 0xff], frame([UInt8](repeating: 0, count: 513)),
            frame(instance) + Array(repeatElement(one, count: 33).joined()),
            introduced + Array(repeatElement(one, count: 1_001).joined()), introduced + frame([]) + one + frame([]),
            introduced + frame([]) + frame([]), introduced + frame([]) + frame([2]) + frame([]),
            introduced + frame([]) + frame([1]) + frame([1]),
        ]
        for bytes in cases {
            var side = TrustExchange(instance: instance, rotations: [])
            _ = bytes.withUnsafeBytes { side.receive($0) }
            #expect(side.isBroken && !side.isDone)
        }
    }
}
