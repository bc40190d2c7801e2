/// What a TXT record says about a node: `v` and `id` (RFC 6763 §6: `key=value` texts, keys in either case, the first of
/// several counts, unknown keys are passed over).
package struct ServiceText: Equatable {
    /// The version of the protocol.
    package let version: Int
    /// The short node ID in the form `K7QX-2M9F`; empty when an unknown version has none that can be read.
    package let shortID: String

    /// The version that this code knows.
    package static let knownVersion = 1

    /// Reads the strings of a record, or answers `nil` when no Kith node wrote it.
    package init?(_ strings: [[UInt8]]) {
        guard strings.reduce(0, { $0 + $1.count + 1 }) <= DiscoveryLimits.textBytesMax else { return nil }
        var version: Int?
        var shortID: String?
        var isFirst = (version: true, id: true)
        for string in strings {
            guard let equals = string.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let key = string[..<equals].map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
            let value = string[(equals + 1)...]
            if key == Array("v".utf8), isFirst.version {
                isFirst.version = false
                version = Self.number(value)
            } else if key == Array("id".utf8), isFirst.id {
                isFirst.id = false
                shortID = Self.shortID(value)
            }
        }
        guard let version else { return nil }
        guard shortID != nil || version != Self.knownVersion else { return nil }
        self.version = version
        self.shortID = shortID ?? ""
    }

    /// A version: one to four decimal digits, not zero.
    private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        guard (1...4).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        let number = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        return number > 0 ? number : nil
    }

    /// The first eight characters of a node ID, with or without dash, in the form with dash and capital letters.
    package static func shortID(_ text: some Sequence<UInt8>) -> String? {
        var characters: [UInt8] = []
        for byte in text where byte != UInt8(ascii: "-") {
            let capital = (0x61...0x7A).contains(byte) ? byte & 0xDF : byte
            guard "0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8.contains(capital), characters.count < 8 else { return nil }
            characters.append(capital)
        }
        guard characters.count == 8 else { return nil }
        characters.insert(UInt8(ascii: "-"), at: 4)
        return String(decoding: characters, as: UTF8.self)
    }
}
