/// Checks UTF-8 that comes in pieces: a character may be cut at any byte, and what can no longer become valid is noticed
/// at its first wrong byte.
struct UTF8Checker {
    /// Continuation bytes that the character begun last still needs.
    private var needed = 0
    /// What the next continuation byte may be: narrower right after some lead bytes (Unicode, table 3-7).
    private var lowest: UInt8 = 0x80
    private var highest: UInt8 = 0xBF

    /// Whether the text could end here.
    var isAtBoundary: Bool { needed == 0 }

    /// Takes the next bytes; `false` when they are not UTF-8.
    mutating func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var index = 0
        while index < bytes.count {
            if needed == 0, index + 8 <= bytes.count,
                bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
            {
                index += 8
                continue
            }
            let byte = bytes[index]
            index += 1
            if needed == 0 {
                guard begin(byte) else { return false }
            } else {
                guard byte >= lowest, byte <= highest else { return false }
                needed -= 1
                lowest = 0x80
                highest = 0xBF
            }
        }
        return true
    }

    private mutating func begin(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x00...0x7F: return true
        case 0xC2...0xDF: needed = 1
        case 0xE0...0xEF:
            needed = 2
            if byte == 0xE0 { lowest = 0xA0 }
            if byte == 0xED { highest = 0x9F }
        case 0xF0...0xF4:
            needed = 3
            if byte == 0xF0 { lowest = 0x90 }
            if byte == 0xF4 { highest = 0x8F }
        default: return false
        }
        return true
    }
}
