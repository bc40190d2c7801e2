import KithDocuments
import Testing

@testable import KithTrust

@Suite("SPAKE2")
struct SPAKE2Tests {
    static func bytes(_ hex: String) -> [UInt8] {
        var rest = Substring(hex)
        var bytes: [UInt8] = []
        while !rest.isEmpty {
            bytes.append(UInt8(rest.prefix(2), radix: 16)!)
            rest = rest.dropFirst(2)
        }
        return bytes
    }

    static func secret(_ hex: String) -> SecretBytes { bytes(hex).withUnsafeBytes { SecretBytes(copying: $0) } }

    @Test("the values of RFC 9382, appendix B")
    func vectors() throws {
        let w = Self.secret("2ee57912099d31560b3a44b1184b9b4866e904c49d12ac5042c97dca461b1a5f")
        let (server, client) = (Array("server".utf8), Array("client".utf8))
        let a = try SPAKE2(
            side: .a, ownIdentity: server, peerIdentity: client, secret: w,
            randomness: Self.secret("43dd0fd7215bdcb482879fca3220c6a968e66d70b1356cac18bb26c84a78d729"))
        let b = try SPAKE2(
            side: .b, ownIdentity: client, peerIdentity: server, secret: w,
            randomness: Self.secret("dcb60106f276b02606d8ef0a328c02e4b629f84f89786af5befb0bc75b6e66be"))
        #expect(
            a.share
                == Self.bytes(
                    "04a56fa807caaa53a4d28dbb9853b9815c61a411118a6fe516a8798434751470f9"
                        + "010153ac33d0d5f2047ffdb1a3e42c9b4e6be662766e1eeb4116988ede5f912c"))
        #expect(
            b.share
                == Self.bytes(
                    "0406557e482bd03097ad0cbaa5df82115460d951e3451962f1eaf4367a420676d0"
                        + "9857ccbc522686c83d1852abfa8ed6e4a1155cf8f1543ceca528afb591a1e0b7"))
        let proofsOfA = try a.proofs(peerShare: b.share, context: [])
        let proofsOfB = try b.proofs(peerShare: a.share, context: [])
        #expect(
            proofsOfA.own == Self.bytes("58ad4aa88e0b60d5061eb6b5dd93e80d9c4f00d127c65b3b35b1b5281fee38f0"))
        #expect(
            proofsOfB.own == Self.bytes("d3e2e547f1ae04f2dbdbf0fc4b79f8ecff2dff314b5d32fe9fcef2fb26dc459b"))
        #expect(proofsOfA.expected == proofsOfB.own && proofsOfB.expected == proofsOfA.own)
    }

    @Test("what is no point of the curve is refused: wrong length, not on the curve, infinity")
    func badShares() throws {
        let w = Self.secret(String(repeating: "07", count: 32))
        let side = try SPAKE2(
            side: .b, ownIdentity: [1], peerIdentity: [2], secret: w,
            randomness: Self.secret(String(repeating: "09", count: 32)))
        var offCurve = side.share
        offCurve[64] ^= 1
        // Other forms of the very same point.
        let isOdd = side.share[64] & 1
        let (hybrid, compressed) = ([6 + isOdd] + side.share[1...], [2 + isOdd] + side.share[1...32])
        for share in [
            [], [0], hybrid, compressed, Array(side.share.dropLast()), offCurve, [UInt8](repeating: 0, count: 65),
            [4] + [UInt8](repeating: 0xff, count: 64),
        ] {
            let error = #expect(throws: KithError.self) { try side.proofs(peerShare: share, context: []) }
            #expect(error?.code == .protocolViolation)
        }
    }

    @Test("another secret, identity or context gives other proofs", arguments: ["secret", "identity", "context"])
    func bound(what: String) throws {
        let w = Self.secret(String(repeating: "07", count: 32))
        let otherSecret = what == "secret" ? Self.secret(String(repeating: "08", count: 32)) : w
        let a = try SPAKE2(
            side: .a, ownIdentity: [1], peerIdentity: [2], secret: w,
            randomness: Self.secret(String(repeating: "09", count: 32)))
        let b = try SPAKE2(
            side: .b, ownIdentity: [2], peerIdentity: what == "identity" ? [3] : [1], secret: otherSecret,
            randomness: Self.secret(String(repeating: "0a", count: 32)))
        let proofsOfA = try a.proofs(peerShare: b.share, context: [1])
        let proofsOfB = try b.proofs(peerShare: a.share, context: what == "context" ? [2] : [1])
        #expect(proofsOfA.expected != proofsOfB.own && proofsOfB.expected != proofsOfA.own)
    }
}
