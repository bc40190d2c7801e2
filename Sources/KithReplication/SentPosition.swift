import KithDocuments

/// One of our sequences as the peer is told it: a number, or with a filter a text that has the filter's tag in it (`"12:4f…"`).
///
/// To the peer it is opaque. What it hands back counts only when the same filter is in force.
enum SentPosition {
    /// The earlier of two positions of one peer; `nil` where they are of different filters, or of no Kith node.
    static func earlier(_ a: [UInt8], _ b: [UInt8]) -> [UInt8]? {
        func parts(_ text: [UInt8]) -> (number: UInt64, rest: ArraySlice<UInt8>)? {
            let start = text.first == UInt8(ascii: "\"") ? 1 : 0
            let end = text[start...].firstIndex { !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ?? text.count
            return UInt64(String(decoding: text[start..<end], as: UTF8.self)).map { ($0, text[end...]) }
        }
        guard let first = parts(a), let second = parts(b), first.rest == second.rest else { return nil }
        return first.number <= second.number ? a : b
    }

    /// The JSON text.
    static func text(_ sequence: UInt64, tag: String?) -> String {
        tag.map { "\"\(sequence):\($0)\"" } ?? String(sequence)
    }

    /// The sequence in a JSON text, or in what a peer has made a plain text of; `nil` when it is none of ours, or another filter's.
    static func sequence(_ text: String, tag: String?) -> UInt64? {
        guard let tag else { return UInt64(text) }
        var bytes = Substring(text).utf8
        if bytes.count >= 2, bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\"") {
            bytes = bytes.dropFirst().dropLast()
        }
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
            bytes[bytes.index(after: colon)...].elementsEqual(tag.utf8)
        else { return nil }
        return UInt64(Substring(bytes[..<colon]))
    }
}
