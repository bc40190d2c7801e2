/// The name of a collection of documents in a database: `_default`, or `scope.name`.
///
/// The rule is Couchbase's: letters, digits, `_`, `-` and `%`, in scope and name each at most 251 bytes and not beginning
/// with `_` or `%`; only `_default` may be called so. A name without scope is in the scope `_default`, so that `orders` and
/// `_default.orders` are one collection, and so are `_default` and `_default._default`.
public struct CollectionName: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The name in its one spelling, without the scope `_default`; ASCII by the rule above.
    public let text: String

    /// The collection that every database has.
    public static let `default` = CollectionName(spelled: "_default")

    private init(spelled text: String) {
        self.text = text
    }

    /// Makes a name.
    ///
    /// - Throws: `bad_name` when it breaks the rule.
    public init(_ text: String) throws(KithError) {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count <= 2, let last = parts.last else { throw Self.badName }
        let scope = parts.count == 2 ? parts[0] : "_default".utf8[...]
        let isDefaultScope = scope.elementsEqual("_default".utf8)
        guard isDefaultScope || Self.isLegal(scope) else { throw Self.badName }
        if isDefaultScope, last.elementsEqual("_default".utf8) {
            self = .default
            return
        }
        guard Self.isLegal(last) else { throw Self.badName }
        let name = String(decoding: last, as: UTF8.self)
        self.text = isDefaultScope ? name : String(decoding: scope, as: UTF8.self) + "." + name
    }

    /// The text, for messages.
    public var description: String { text }

    /// Whether both have the same bytes.
    public static func == (a: CollectionName, b: CollectionName) -> Bool { ByteText.equal(a.text, b.text) }
    /// Order by UTF-8 bytes.
    public static func < (a: CollectionName, b: CollectionName) -> Bool { ByteText.compare(a.text, b.text) < 0 }
    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) {
        ByteText.withBytes(of: text) { hasher.combine(bytes: $0) }
    }

    private static func isLegal(_ part: Substring.UTF8View) -> Bool {
        guard let first = part.first, first != UInt8(ascii: "_"), first != UInt8(ascii: "%") else { return false }
        return part.count <= DocumentLimits.collectionNameBytesMax && part.allSatisfy(isLegal)
    }

    private static func isLegal(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "%"):
            true
        default: false
        }
    }

    private static var badName: KithError {
        KithError(
            .badName, "this is not the name of a collection",
            remedy: "Use NAME or SCOPE.NAME, each of letters, digits, _, - and %, not beginning with _ or %, at most "
                + "\(DocumentLimits.collectionNameBytesMax) bytes long")
    }
}
