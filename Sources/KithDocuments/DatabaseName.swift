/// The name of a database, by CouchDB's rule: `^[a-z][a-z0-9_$()+/-]*$`, at most 100 bytes.
public struct DatabaseName: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The name as text; ASCII by the rule above.
    public let text: String

    /// Makes a name.
    ///
    /// - Throws: `bad_name` when it breaks the rule.
    public init(_ text: String) throws(KithError) {
        let isLegal = ByteText.withBytes(of: text) { bytes in
            guard let first = bytes.first, first >= UInt8(ascii: "a"), first <= UInt8(ascii: "z") else { return false }
            guard bytes.count <= DocumentLimits.databaseNameBytesMax else { return false }
            return bytes.allSatisfy(Self.isLegal)
        }
        guard isLegal else {
            throw KithError(
                .badName, "this is not a database name",
                remedy: "Use a lower-case letter, then lower-case letters, digits and _$()+/-, at most "
                    + "\(DocumentLimits.databaseNameBytesMax) in all")
        }
        self.text = text
    }

    /// The name as a file name: `/` written as `:`, everything else as it is. No two names share one.
    public var fileName: String {
        String(decoding: text.utf8.map { $0 == UInt8(ascii: "/") ? UInt8(ascii: ":") : $0 }, as: UTF8.self)
    }

    /// The name that `fileName` was made from.
    ///
    /// - Throws: `bad_name` when no database name gives this file name.
    public init(fileName: String) throws(KithError) {
        guard !fileName.utf8.contains(UInt8(ascii: "/")) else {
            throw KithError(.badName, "this is not the file name of a database")
        }
        let bytes = fileName.utf8.map { $0 == UInt8(ascii: ":") ? UInt8(ascii: "/") : $0 }
        try self.init(String(decoding: bytes, as: UTF8.self))
    }

    /// The text, for messages.
    public var description: String { text }

    /// Whether both have the same bytes.
    public static func == (a: DatabaseName, b: DatabaseName) -> Bool { ByteText.equal(a.text, b.text) }
    /// Order by UTF-8 bytes.
    public static func < (a: DatabaseName, b: DatabaseName) -> Bool { ByteText.compare(a.text, b.text) < 0 }
    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) {
        ByteText.withBytes(of: text) { hasher.combine(bytes: $0) }
    }

    private static func isLegal(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "_"), UInt8(ascii: "$"), UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "+"),
            UInt8(ascii: "/"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
