/// Up to 20 bytes in three words, first byte highest, so that words compare as the bytes do.
struct InlineWords {
    var word0: UInt64 = 0
    var word1: UInt64 = 0
    var word2: UInt32 = 0
    var count: UInt8 = 0

    @inline(__always)
    init() {}

    /// The bytes given, at most 20.
    @inline(__always)
    init(_ bytes: UnsafeRawBufferPointer) {
        if bytes.count == RevisionID.inlineBytesMax {
            word0 = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self))
            word1 = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            word2 = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 16, as: UInt32.self))
            count = UInt8(RevisionID.inlineBytesMax)
        } else {
            for byte in bytes { append(byte) }
        }
    }

    @inline(__always)
    mutating func append(_ byte: UInt8) {
        let position = Int(count)
        if position < 8 {
            word0 |= UInt64(byte) << UInt64(56 - position * 8)
        } else if position < 16 {
            word1 |= UInt64(byte) << UInt64(120 - position * 8)
        } else {
            word2 |= UInt32(byte) << UInt32(152 - position * 8)
        }
        count += 1
    }

    @inline(__always)
    subscript(position: Int) -> UInt8 {
        if position < 8 { return UInt8(truncatingIfNeeded: word0 >> UInt64(56 - position * 8)) }
        if position < 16 { return UInt8(truncatingIfNeeded: word1 >> UInt64(120 - position * 8)) }
        return UInt8(truncatingIfNeeded: word2 >> UInt32(152 - position * 8))
    }
}

extension RevisionID: CustomStringConvertible {
    /// `generation-digest`, exactly as it came.
    public var description: String { String(decoding: bytes, as: UTF8.self) }

    /// The part after the first dash, exactly as it came.
    public var digest: String { String(decoding: digestBytes, as: UTF8.self) }

    /// The bytes of `generation-digest`, all ASCII.
    public var bytes: [UInt8] {
        var result: [UInt8] = []
        append(to: &result)
        return result
    }

    /// Appends the bytes of `generation-digest`; at most 93 of them.
    public func append(to output: inout [UInt8]) {
        var digits: UInt64 = 0
        var rest = generation32
        var count = 0
        repeat {
            digits = digits << 4 | UInt64(rest % 10)
            rest /= 10
            count += 1
        } while rest > 0
        output.reserveCapacity(output.count + count + 1 + digestCount)
        for _ in 0..<count {
            output.append(UInt8(ascii: "0") + UInt8(digits & 0xF))
            digits >>= 4
        }
        output.append(UInt8(ascii: "-"))
        appendDigest(to: &output)
    }

    /// How many bytes the digest has as text.
    var digestCount: Int {
        switch form {
        case .hex: Int(inlineCount) * 2
        case .shortText: Int(inlineCount)
        case .longText: longText?.count ?? 0
        }
    }

    var digestBytes: [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(digestCount)
        appendDigest(to: &result)
        return result
    }

    private var words: InlineWords {
        var words = InlineWords()
        words.word0 = word0
        words.word1 = word1
        words.word2 = word2
        words.count = inlineCount
        return words
    }

    private func appendDigest(to output: inout [UInt8]) {
        let words = words
        switch form {
        case .hex:
            withUnsafeTemporaryAllocation(byteCount: Self.inlineBytesMax * 2, alignment: 1) { digits in
                for position in 0..<Int(inlineCount) {
                    let byte = words[position]
                    digits[2 * position] = Self.hexDigit(byte >> 4)
                    digits[2 * position + 1] = Self.hexDigit(byte & 0xF)
                }
                output.append(contentsOf: UnsafeRawBufferPointer(rebasing: digits[..<(2 * Int(inlineCount))]))
            }
        case .shortText:
            for position in 0..<Int(inlineCount) { output.append(words[position]) }
        case .longText:
            if let longText { output.append(contentsOf: longText) }
        }
    }

    @inline(__always)
    private static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") - 10 + value
    }

    /// Reads `generation-digest`, or gives `nil`.
    init?(bytes: UnsafeRawBufferPointer) {
        var generation: UInt64 = 0
        var position = 0
        while position < bytes.count, bytes[position] &- UInt8(ascii: "0") < 10 {
            guard position < 10 else { return nil }
            generation = generation * 10 + UInt64(bytes[position] - UInt8(ascii: "0"))
            position += 1
        }
        guard position > 0, position < bytes.count, bytes[position] == UInt8(ascii: "-") else { return nil }
        guard bytes[0] != UInt8(ascii: "0"), generation <= DocumentLimits.revisionGenerationMax else { return nil }
        self.init(
            generation32: UInt32(generation), digest: UnsafeRawBufferPointer(rebasing: bytes[(position + 1)...]))
    }

    /// The ID with this digest text, or `nil` when the text is not legal. The generation is not looked at.
    init?(generation32: UInt32, digest: UnsafeRawBufferPointer) {
        guard !digest.isEmpty, digest.count <= DocumentLimits.revisionDigestBytesMax else { return nil }
        if digest.count & 1 == 0, digest.count <= Self.inlineBytesMax * 2, let words = Self.hexWords(digest) {
            self.init(generation32: generation32, form: .hex, words: words, longText: nil)
            return
        }
        for byte in digest where !Self.isDigestByte(byte) { return nil }
        if digest.count <= Self.inlineBytesMax {
            self.init(generation32: generation32, form: .shortText, words: InlineWords(digest), longText: nil)
        } else {
            self.init(generation32: generation32, form: .longText, words: InlineWords(), longText: Array(digest))
        }
    }

    private static func hexWords(_ digest: UnsafeRawBufferPointer) -> InlineWords? {
        var words = InlineWords()
        if digest.count == inlineBytesMax * 2 {
            // What nearly all are: digit by digit into whole words.
            var all: UInt8 = 0
            func word(_ digits: Range<Int>) -> UInt64 {
                var word: UInt64 = 0
                for position in digits {
                    let value = hexValue(digest[position])
                    all |= value
                    word = word << 4 | UInt64(value & 0xF)
                }
                return word
            }
            (words.word0, words.word1) = (word(0..<16), word(16..<32))
            words.word2 = UInt32(word(32..<40))
            words.count = UInt8(inlineBytesMax)
            return all < 16 ? words : nil
        }
        var position = 0
        while position < digest.count {
            let high = hexValue(digest[position])
            let low = hexValue(digest[position + 1])
            guard high | low < 16 else { return nil }
            words.append(high << 4 | low)
            position += 2
        }
        return words
    }

    /// The value of a lower-case hex digit, or a number above 15.
    @inline(__always)
    private static func hexValue(_ byte: UInt8) -> UInt8 {
        let digit = byte &- UInt8(ascii: "0")
        if digit < 10 { return digit }
        let letter = byte &- UInt8(ascii: "a")
        return letter < 6 ? letter + 10 : 0xFF
    }

    /// Letters, digits and what base64 and URLs use. No comma and no blank: histories are lists with commas. No `@`:
    /// that is a version vector, another kind of ID that this protocol version does not speak.
    private static func isDigestByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"), UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="):
            true
        default: false
        }
    }
}
