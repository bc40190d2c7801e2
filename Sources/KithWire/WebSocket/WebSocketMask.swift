/// Masking of RFC 6455 §5.3: XOR with a key of four bytes, over and over. Masking and unmasking are the same.
enum WebSocketMask {
    /// Masks `bytes` in place, eight at a time.
    ///
    /// - Parameters:
    ///   - key: the key as it stands in the frame, first byte in the lowest bits.
    ///   - offset: how many bytes of the payload came before these.
    static func apply(_ key: UInt32, offset: Int, to bytes: UnsafeMutableRawBufferPointer) {
        let shift = UInt32(offset & 3) * 8
        let rotated = shift == 0 ? key : key >> shift | key << (32 - shift)
        let wide = UInt64(rotated) | UInt64(rotated) << 32
        var index = 0
        while index + 8 <= bytes.count {
            let value = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self).littleEndian ^ wide
            bytes.storeBytes(of: value.littleEndian, toByteOffset: index, as: UInt64.self)
            index += 8
        }
        while index < bytes.count {
            bytes[index] ^= UInt8(truncatingIfNeeded: rotated >> (UInt32(index & 3) * 8))
            index += 1
        }
    }
}
