import KithDocuments

/// What a request asks for: the path in decoded segments and the query in decoded items.
public struct HTTPTarget: Sendable, Equatable {
    /// One item of the query.
    public struct QueryItem: Sendable, Equatable {
        /// The decoded name.
        public var name: String
        /// The decoded value; empty also when there was no `=`.
        public var value: String
    }

    /// The target as it stands in the request line.
    public let text: String
    /// The path's segments, each decoded on its own: a `%2F` is data, not a border. `/` has none, and a `/` at the end
    /// adds none: `/db/` is `["db"]`.
    public let segments: [String]
    /// The items of the query in order. A plus is a plus.
    public let query: [QueryItem]

    /// Reads the target of a request in origin form or absolute form (RFC 9112 §3.2), or `*`, which has no segments.
    ///
    /// `nil` when it is none of these, when a percent sign is not followed by two hex digits, when a decoded part is not
    /// UTF-8, or when it holds bytes beyond printable ASCII or a `#`.
    public init?(_ text: String) {
        var text = text
        guard let parsed = text.withUTF8({ Self.parse(UnsafeRawBufferPointer($0)) }) else { return nil }
        self.text = text
        (segments, query) = parsed
    }

    /// The value of the first query item of this name.
    public subscript(query name: String) -> String? {
        query.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
    }

    private static func parse(_ bytes: UnsafeRawBufferPointer) -> ([String], [QueryItem])? {
        guard bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") }) else { return nil }
        if bytes.count == 1, bytes[0] == UInt8(ascii: "*") { return ([], []) }
        guard var rest = withoutAuthority(bytes) else { return nil }
        var query: [QueryItem] = []
        if let mark = rest.firstIndex(of: UInt8(ascii: "?")) {
            guard let items = parseQuery(rest[(mark + 1)...]) else { return nil }
            query = items
            rest = rest[..<mark]
        }
        var segments: [String] = []
        for piece in rest.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst() {
            guard let segment = decoded(piece) else { return nil }
            segments.append(segment)
        }
        if segments.last?.isEmpty == true { segments.removeLast() }
        return (segments, query)
    }

    /// The part from the path on; the absolute form loses its scheme and authority, which the `Host` field repeats.
    private static func withoutAuthority(_ bytes: UnsafeRawBufferPointer) -> Slice<UnsafeRawBufferPointer>? {
        if bytes.first == UInt8(ascii: "/") { return bytes[...] }
        let lowered = bytes.prefix(8).map(ASCII.lowercased)
        let scheme = lowered.starts(with: "http://".utf8) ? 7 : lowered.starts(with: "https://".utf8) ? 8 : 0
        guard scheme > 0, bytes.count > scheme else { return nil }
        let authority = bytes[scheme...]
        let end = authority.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? authority.endIndex
        guard end > scheme else { return nil }
        return bytes[end...]
    }

    private static func parseQuery(_ bytes: Slice<UnsafeRawBufferPointer>) -> [QueryItem]? {
        var items: [QueryItem] = []
        for piece in bytes.split(separator: UInt8(ascii: "&")) {
            let equals = piece.firstIndex(of: UInt8(ascii: "="))
            guard let name = decoded(piece[..<(equals ?? piece.endIndex)]),
                let value = decoded(equals.map { piece[($0 + 1)...] } ?? piece[piece.endIndex...])
            else { return nil }
            items.append(QueryItem(name: name, value: value))
        }
        return items
    }

    private static func decoded(_ bytes: Slice<UnsafeRawBufferPointer>) -> String? {
        guard bytes.contains(UInt8(ascii: "%")) else {
            return UTF8Text.string(UnsafeRawBufferPointer(rebasing: bytes))
        }
        return PercentEncoding.bytes(bytes)?.withUnsafeBytes { UTF8Text.string($0) }
    }
}
