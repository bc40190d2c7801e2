/// Base64 as RFC 4648 has it in section 4, in one spelling: with padding, without line ends, unused bits 0.
package enum Base64 {
    /// The text of bytes.
    package static func encode(_ bytes: [UInt8]) -> String {
        var output: [UInt8] = []
        encode(bytes, to: &output)
        return String(decoding: output, as: UTF8.self)
    }

    /// The bytes that a text spells, or `nil` when `encode` would not have written it so.
    package static func decode(_ text: String) -> [UInt8]? {
        Array(text.utf8).withUnsafeBytes { decode($0) }
    }

    static func encode(_ bytes: some Sequence<UInt8>, to output: inout [UInt8]) {
        var word: UInt32 = 0
        var count = 0
        for byte in bytes {
            word = word << 8 | UInt32(byte)
            count += 1
            if count == 3 {
                for shift in [18, 12, 6, 0] { output.append(digit(word >> UInt32(shift) & 63)) }
                word = 0
                count = 0
            }
        }
        guard count > 0 else { return }
        word <<= count == 1 ? 16 : 8
        output.append(digit(word >> 18 & 63))
        output.append(digit(word >> 12 & 63))
        output.append(count == 1 ? UInt8(ascii: "=") : digit(word >> 6 & 63))
        output.append(UInt8(ascii: "="))
    }

    /// The text that spells bytes in one piece, for many of them.
    package static func text(of bytes: [UInt8]) -> [UInt8] {
        let whole = bytes.count / 3 * 3
        var text = [UInt8](unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4) { output, count in
            bytes.withUnsafeBufferPointer { input in
                var place = 0
                while place < whole {
                    let word =
                        UInt32(input[place]) << 16 | UInt32(input[place + 1]) << 8 | UInt32(input[place + 2])
                    output[count] = digit(word >> 18)
                    output[count + 1] = digit(word >> 12 & 63)
                    output[count + 2] = digit(word >> 6 & 63)
                    output[count + 3] = digit(word & 63)
                    count += 4
                    place += 3
                }
            }
        }
        encode(bytes[whole...], to: &text)
        return text
    }

    /// The bytes that a text spells, or `nil` when `encode` would not have written it so.
    static func decode(_ text: UnsafeRawBufferPointer) -> [UInt8]? {
        guard text.count & 3 == 0 else { return nil }
        var output: [UInt8] = []
        output.reserveCapacity(text.count / 4 * 3)
        for start in stride(from: 0, to: text.count, by: 4) {
            let isLast = start + 4 == text.count
            let padding =
                !isLast || text[start + 3] != UInt8(ascii: "=") ? 0 : text[start + 2] == UInt8(ascii: "=") ? 2 : 1
            var word: UInt32 = 0
            for place in 0..<(4 - padding) {
                guard let value = value(text[start + place]) else { return nil }
                word |= value << UInt32(18 - place * 6)
            }
            guard padding == 0 || word & (padding == 1 ? 0xFF : 0xFFFF) == 0 else { return nil }
            for place in 0..<(3 - padding) { output.append(UInt8(truncatingIfNeeded: word >> UInt32(16 - place * 8))) }
        }
        return output
    }

    private static func digit(_ value: UInt32) -> UInt8 {
        switch value {
        case 0..<26: UInt8(ascii: "A") + UInt8(value)
        case 26..<52: UInt8(ascii: "a") + UInt8(value - 26)
        case 52..<62: UInt8(ascii: "0") + UInt8(value - 52)
        case 62: UInt8(ascii: "+")
        default: UInt8(ascii: "/")
        }
    }

    private static func value(_ digit: UInt8) -> UInt32? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
