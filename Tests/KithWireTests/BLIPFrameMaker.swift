@testable import KithWire

/// Makes frames by hand, right or wrong, with its own checksum: an independent sender to test the receiver against.
struct BLIPFrameMaker {
    private var crc: UInt32 = 0xFFFF_FFFF
    private var deflater: BLIPDeflater?

    /// A frame whose payload is these plain bytes.
    mutating func frame(number: UInt64 = 1, flags: UInt64 = 0, payload: [UInt8]) -> [UInt8] {
        var out: [UInt8] = []
        Varint.append(number, to: &out)
        Varint.append(flags, to: &out)
        if flags & BLIPFlags.compressed != 0 {
            let deflater = self.deflater ?? (try! BLIPDeflater(level: 9))
            self.deflater = deflater
            // zlib does not repeat a flush when there is nothing new: an empty payload stays empty.
            if !payload.isEmpty {
                payload.withUnsafeBytes { deflater.deflate($0, to: &out) }
                out.removeLast(4)
            }
        } else {
            out += payload
        }
        include(payload)
        return out + checksum
    }

    /// A frame with a message of these properties and body.
    mutating func frame(
        number: UInt64 = 1, flags: UInt64 = 0, properties: BLIPProperties, body: [UInt8] = []
    ) -> [UInt8] {
        frame(number: number, flags: flags, payload: Self.message(properties, body))
    }

    /// The plain bytes of a message.
    static func message(_ properties: BLIPProperties, _ body: [UInt8] = []) -> [UInt8] {
        var out: [UInt8] = []
        Varint.append(UInt64(properties.block.count), to: &out)
        return out + properties.block + body
    }

    /// Adds plain bytes to the running checksum.
    mutating func include(_ bytes: [UInt8]) {
        for byte in bytes {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
        }
    }

    /// The running checksum as it stands in a frame.
    var checksum: [UInt8] {
        let value = ~crc
        return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> UInt32($0)) }
    }
}
