/// Unsigned LEB128 as in blip.md §4: 7 bits a byte, least significant group first, at most 10 bytes.
enum Varint {
    /// Reads a varint at `offset` and moves `offset` behind it; `nil` when it runs off the end or exceeds 64 bits.
    @inline(__always)
    static func read(_ bytes: UnsafeRawBufferPointer, at offset: inout Int) -> UInt64? {
        if offset < bytes.count {
            let first = bytes[offset]
            if first < 0x80 {
                offset += 1
                return UInt64(first)
            }
        }
        return readSlowly(bytes, at: &offset)
    }

    @inline(never)
    private static func readSlowly(_ bytes: UnsafeRawBufferPointer, at offset: inout Int) -> UInt64? {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        var position = offset
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            if shift == 63, byte > 1 { return nil }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 {
                offset = position
                return value
            }
            shift += 7
        }
        return nil
    }

    /// Appends `value` in its shortest form.
    @inline(__always)
    static func append(_ value: UInt64, to out: inout [UInt8]) {
        var rest = value
        while rest >= 0x80 {
            out.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        out.append(UInt8(truncatingIfNeeded: rest))
    }

    /// How many bytes ``append(_:to:)`` writes for `value`.
    static func byteCount(_ value: UInt64) -> Int {
        value == 0 ? 1 : (64 - value.leadingZeroBitCount + 6) / 7
    }
}
