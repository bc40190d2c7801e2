/// The ID of a document: 1 to 240 bytes of valid UTF-8 without NUL, not beginning with `_` except `_design/…`.
///
/// IDs are compared, hashed and ordered by their UTF-8 bytes. Local documents (`_local/…`) are not named by a
/// `DocumentID`: they never replicate and have an interface of their own.
public struct DocumentID: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The ID as text, exactly the bytes that it was made from.
    public let text: String

    private init(trusted text: String) {
        self.text = text
    }

    /// Makes an ID from text.
    ///
    /// - Throws: `bad_name` when it is empty, longer than 240 bytes, has a NUL, or begins with `_` and not `_design/`.
    public init(_ text: String) throws(KithError) {
        if let problem = ByteText.withBytes(of: text, { Self.problem($0) }) { throw problem }
        self.text = text
    }

    /// Makes an ID from UTF-8 bytes.
    ///
    /// - Throws: `bad_name` as the other initialisers, and when the bytes are not valid UTF-8.
    public init(utf8 bytes: some Sequence<UInt8>) throws(KithError) {
        let array = Array(bytes)
        let (text, problem) = array.withUnsafeBytes { Self.check($0) }
        if let problem { throw problem }
        self.text = text
    }

    /// Makes an ID from UTF-8 bytes in one piece.
    ///
    /// - Throws: `bad_name` as the other initialisers, and when the bytes are not valid UTF-8.
    public init(utf8 bytes: UnsafeRawBufferPointer) throws(KithError) {
        let (text, problem) = Self.check(bytes)
        if let problem { throw problem }
        self.text = text
    }

    /// Makes an ID without looking at it: only for text that was a `DocumentID` before, such as one read from a database.
    public static func unchecked(_ text: String) -> DocumentID {
        DocumentID(trusted: text)
    }

    /// Whether this is a design document, which only an administrator may write.
    public var isDesignDocument: Bool { ByteText.withBytes(of: text) { Self.hasPrefix($0, Self.designPrefix) } }

    /// The text, for messages.
    public var description: String { text }

    /// Whether both have the same bytes.
    public static func == (a: DocumentID, b: DocumentID) -> Bool { ByteText.equal(a.text, b.text) }
    /// Order by UTF-8 bytes.
    public static func < (a: DocumentID, b: DocumentID) -> Bool { ByteText.compare(a.text, b.text) < 0 }
    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) {
        ByteText.withBytes(of: text) { hasher.combine(bytes: $0) }
    }

    private static let designPrefix: StaticString = "_design/"
    private static let localPrefix: StaticString = "_local/"

    private static func hasPrefix(_ bytes: UnsafeRawBufferPointer, _ prefix: StaticString) -> Bool {
        guard bytes.count >= prefix.utf8CodeUnitCount else { return false }
        for index in 0..<prefix.utf8CodeUnitCount where bytes[index] != prefix.utf8Start[index] { return false }
        return true
    }

    private static func check(_ bytes: UnsafeRawBufferPointer) -> (String, KithError?) {
        if let problem = problem(bytes) { return ("", problem) }
        guard let text = ByteText.string(validating: bytes) else {
            return ("", KithError(.badName, "the document ID is not valid UTF-8"))
        }
        return (text, nil)
    }

    private static func problem(_ bytes: UnsafeRawBufferPointer) -> KithError? {
        guard !bytes.isEmpty else { return KithError(.badName, "the document ID is empty") }
        guard bytes.count <= DocumentLimits.documentIDBytesMax else {
            return KithError(
                .badName,
                "the document ID has \(bytes.count) bytes, the most is \(DocumentLimits.documentIDBytesMax)")
        }
        for byte in bytes where byte == 0 { return KithError(.badName, "the document ID has a NUL in it") }
        if bytes[0] == UInt8(ascii: "_") {
            if hasPrefix(bytes, designPrefix), bytes.count > designPrefix.utf8CodeUnitCount { return nil }
            if hasPrefix(bytes, localPrefix) {
                return KithError(.badName, "a local document has no place among replicated documents")
            }
            return KithError(
                .badName, "a document ID does not begin with _", remedy: "Only _design/NAME and _local/NAME may")
        }
        return nil
    }
}
