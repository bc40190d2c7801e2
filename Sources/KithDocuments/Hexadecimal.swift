/// Bytes as lower-case hex digits.
package enum Hexadecimal {
    private static let digits: StaticString = "0123456789abcdef"

    /// Two digits for each byte.
    package static func text(_ bytes: some Collection<UInt8>) -> String {
        String(unsafeUninitializedCapacity: bytes.count * 2) { buffer in
            var index = 0
            for byte in bytes {
                buffer[index] = digits.utf8Start[Int(byte >> 4)]
                buffer[index + 1] = digits.utf8Start[Int(byte & 15)]
                index += 2
            }
            return index
        }
    }

    /// The bytes that a text stands for, or `nil` when `text` would not have written it so.
    package static func bytes(_ text: some StringProtocol) -> [UInt8]? {
        var bytes: [UInt8] = []
        var high: UInt8?
        for digit in text.utf8 {
            let value: UInt8
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = digit - UInt8(ascii: "a") + 10
            default: return nil
            }
            guard let first = high else {
                high = value
                continue
            }
            bytes.append(first << 4 | value)
            high = nil
        }
        return high == nil ? bytes : nil
    }
}
