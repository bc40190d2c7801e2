/// Keys of objects as they stand in a JSON text that was found valid: comparing and reading them without a copy.
enum JSONKey {
    /// Reads the UTF-8 bytes that a string's text between the quotes stands for.
    struct Unescaped: IteratorProtocol {
        private var next_: UnsafePointer<UInt8>
        private let end: UnsafePointer<UInt8>
        // A scalar from `\u` that is given out byte by byte, the next one lowest.
        private var pending: UInt32 = 0
        private var pendingCount = 0

        init(_ start: UnsafePointer<UInt8>, count: Int) {
            next_ = start
            end = start + count
        }

        mutating func next() -> UInt8? {
            if pendingCount > 0 {
                defer {
                    pending >>= 8
                    pendingCount -= 1
                }
                return UInt8(truncatingIfNeeded: pending)
            }
            guard next_ < end else { return nil }
            let byte = next_.pointee
            next_ += 1
            guard byte == UInt8(ascii: "\\") else { return byte }
            let escape = next_.pointee
            next_ += 1
            switch escape {
            case UInt8(ascii: "b"): return 0x08
            case UInt8(ascii: "f"): return 0x0C
            case UInt8(ascii: "n"): return 0x0A
            case UInt8(ascii: "r"): return 0x0D
            case UInt8(ascii: "t"): return 0x09
            case UInt8(ascii: "u"): break
            default: return escape
            }
            var scalar = Hex.value4(next_)
            next_ += 4
            if scalar >= 0xD800, scalar < 0xDC00 {
                scalar = 0x10000 + (scalar - 0xD800) << 10 + Hex.value4(next_ + 2) - 0xDC00
                next_ += 6
            }
            (pending, pendingCount) = UTF8Bytes.packed(scalar)
            return next()
        }
    }

    /// Negative, zero or positive as one key sorts before, with or after another by the UTF-8 bytes that they stand for.
    static func compare(
        _ a: UnsafePointer<UInt8>, _ aCount: Int, _ b: UnsafePointer<UInt8>, _ bCount: Int
    ) -> Int {
        var left = Unescaped(a, count: aCount)
        var right = Unescaped(b, count: bCount)
        while true {
            switch (left.next(), right.next()) {
            case (nil, nil): return 0
            case (nil, _): return -1
            case (_, nil): return 1
            case (let x?, let y?): if x != y { return Int(x) - Int(y) }
            }
        }
    }

    /// The bytes that the text between the quotes stands for.
    static func bytes(_ start: UnsafePointer<UInt8>, count: Int) -> [UInt8] {
        var reader = Unescaped(start, count: count)
        var result: [UInt8] = []
        while let byte = reader.next() { result.append(byte) }
        return result
    }

    /// The key whose opening quote is at `offset` of a text that is valid up to the key's end; cut for messages.
    static func name(at offset: Int, in bytes: UnsafeRawBufferPointer) -> String {
        guard let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), offset < bytes.count else { return "" }
        var end = offset + 1
        while end < bytes.count, bytes[end] != UInt8(ascii: "\"") { end += bytes[end] == UInt8(ascii: "\\") ? 2 : 1 }
        guard end <= bytes.count else { return "" }
        let name = Self.bytes(base + offset + 1, count: end - offset - 1).prefix(64)
        return String(decoding: name.map { $0 < 0x20 ? UInt8(ascii: "?") : $0 }, as: UTF8.self)
    }
}

/// Hex digits of JSON's `\u`.
enum Hex {
    /// The value of four hex digits in either case, or a number above 0xFFFF when one is none.
    @inline(__always)
    static func value4(_ digits: UnsafePointer<UInt8>) -> UInt32 {
        let high = value(digits[0]) << 12 | value(digits[1]) << 8
        return high | value(digits[2]) << 4 | value(digits[3])
    }

    @inline(__always)
    private static func value(_ byte: UInt8) -> UInt32 {
        let digit = byte &- UInt8(ascii: "0")
        if digit < 10 { return UInt32(digit) }
        let letter = (byte | 0x20) &- UInt8(ascii: "a")
        return letter < 6 ? UInt32(letter) + 10 : 0x10_0000
    }

    /// The lower-case digit for a value below 16.
    @inline(__always)
    static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") - 10 + value
    }
}

/// UTF-8 as RFC 3629 has it.
enum UTF8Bytes {
    /// A scalar's bytes in one word, first byte lowest, and how many there are.
    @inline(__always)
    static func packed(_ scalar: UInt32) -> (UInt32, Int) {
        if scalar < 0x80 { return (scalar, 1) }
        if scalar < 0x800 { return (0xC0 | scalar >> 6 | (0x80 | scalar & 0x3F) << 8, 2) }
        if scalar < 0x10000 {
            return (0xE0 | scalar >> 12 | (0x80 | scalar >> 6 & 0x3F) << 8 | (0x80 | scalar & 0x3F) << 16, 3)
        }
        let low = (0x80 | scalar >> 6 & 0x3F) << 16 | (0x80 | scalar & 0x3F) << 24
        return (0xF0 | scalar >> 18 | (0x80 | scalar >> 12 & 0x3F) << 8 | low, 4)
    }

    /// The length of the sequence of two to four bytes at `start`, or 0 when it is not valid (RFC 3629, section 4: no
    /// overlong form, no surrogate, nothing above U+10FFFF) or cut off.
    @inline(__always)
    static func sequenceLength(_ start: UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>) -> Int {
        let first = start[0]
        let available = end - start
        if first < 0xE0 {
            guard first >= 0xC2, available >= 2, start[1] & 0xC0 == 0x80 else { return 0 }
            return 2
        }
        guard available >= 3, start[2] & 0xC0 == 0x80 else { return 0 }
        let second = start[1]
        if first < 0xF0 {
            let low: UInt8 = first == 0xE0 ? 0xA0 : 0x80
            let high: UInt8 = first == 0xED ? 0x9F : 0xBF
            return second >= low && second <= high ? 3 : 0
        }
        guard first <= 0xF4, available >= 4, start[3] & 0xC0 == 0x80 else { return 0 }
        let low: UInt8 = first == 0xF0 ? 0x90 : 0x80
        let high: UInt8 = first == 0xF4 ? 0x8F : 0xBF
        return second >= low && second <= high ? 4 : 0
    }
}
