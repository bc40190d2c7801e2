import KithDocuments

/// Who a node is: SHA-256 of its public key, written so that people can read it out and mistakes are noticed.
///
/// ```swift
/// let id = try NodeID(parsing: "k7qx 2m9f …")    // forgiving: case, spaces, O for 0, I and L for 1
/// print(id)                                       // K7QX-2M9F-…: 14 groups of four characters
/// print(id.short)                                 // K7QX-2M9F
/// ```
///
/// The hash is over the DER form of the certificate's SubjectPublicKeyInfo (RFC 5280 §4.1.2.7), as in HTTP public key
/// pinning (RFC 7469 §2.4): a renewed certificate with the same key is the same node.
///
/// The text has 52 characters of Crockford's base32 (the 256 bits and four zero bits) in four blocks of 13, each
/// followed by a check character that notices every single wrong character and every exchange of two characters of
/// the block; the 56 characters are printed as 14 groups of four. One ID has exactly one text in the printed form.
public struct NodeID: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The hash as four big-endian words: comparing them in order is comparing the bytes.
    private let words: SIMD4<UInt64>

    /// How many bytes the hash of a public key has.
    public static let hashByteCount = 32

    /// Makes the ID of a node from the SHA-256 of its SubjectPublicKeyInfo.
    ///
    /// - Precondition: the hash has 32 bytes.
    public init(subjectPublicKeyHash hash: [UInt8]) {
        precondition(hash.count == Self.hashByteCount, "a SHA-256 hash has 32 bytes")
        var words = SIMD4<UInt64>()
        for (index, byte) in hash.enumerated() {
            words[index / 8] = words[index / 8] << 8 | UInt64(byte)
        }
        self.words = words
    }

    /// The SHA-256 of the node's SubjectPublicKeyInfo, 32 bytes.
    public var subjectPublicKeyHash: [UInt8] {
        (0..<Self.hashByteCount).map { UInt8(truncatingIfNeeded: words[$0 / 8] >> (56 - UInt64($0 % 8) * 8)) }
    }

    /// The whole ID, as 14 groups of four characters.
    public var description: String {
        let characters = checkedCharacters
        var text: [UInt8] = []
        text.reserveCapacity(CheckedBase32.characters + CheckedBase32.characters / 4)
        for (index, character) in characters.enumerated() {
            if index > 0 && index % 4 == 0 { text.append(UInt8(ascii: "-")) }
            text.append(character)
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The first eight characters, for people: `K7QX-2M9F`. Enough to tell nodes apart by eye, never to trust one.
    public var short: String {
        let characters = checkedCharacters
        return String(decoding: characters[0..<4] + [UInt8(ascii: "-")] + characters[4..<8], as: UTF8.self)
    }

    /// The short form without its dash, as discovery announces it: `K7QX2M9F`.
    public var compactShort: String {
        String(decoding: checkedCharacters.prefix(8), as: UTF8.self)
    }

    /// Orders by the bytes of the hash.
    public static func < (a: NodeID, b: NodeID) -> Bool {
        for index in 0..<4 where a.words[index] != b.words[index] {
            return a.words[index] < b.words[index]
        }
        return false
    }

    /// The 56 characters without dashes.
    private var checkedCharacters: [UInt8] {
        var values: [UInt8] = []
        values.reserveCapacity(CheckedBase32.blocks * CheckedBase32.dataCharactersPerBlock)
        var bits: UInt32 = 0
        var bitCount = 0
        for byte in subjectPublicKeyHash {
            bits = bits << 8 | UInt32(byte)
            bitCount += 8
            while bitCount >= 5 {
                bitCount -= 5
                values.append(UInt8(truncatingIfNeeded: bits >> UInt32(bitCount)) & 31)
            }
        }
        values.append(UInt8(truncatingIfNeeded: bits << UInt32(5 - bitCount)) & 31)  // one bit, then four zeros
        var text: [UInt8] = []
        text.reserveCapacity(CheckedBase32.characters)
        for start in stride(from: 0, to: values.count, by: CheckedBase32.dataCharactersPerBlock) {
            let block = values[start..<start + CheckedBase32.dataCharactersPerBlock]
            for value in block { text.append(CheckedBase32.alphabet[Int(value)]) }
            text.append(CheckedBase32.alphabet[Int(CheckedBase32.check(of: block))])
        }
        return text
    }
}
