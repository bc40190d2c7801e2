/// What names the bytes of an attachment: their SHA-1, written `sha1-` and base64, as Couchbase Lite does.
///
/// There is one spelling of each digest; any other is refused. This room does not compute digests.
public struct AttachmentDigest: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// How many bytes a digest has.
    public static let byteCount = 20

    private let word0: UInt64
    private let word1: UInt64
    private let word2: UInt32

    /// The digest with these 20 bytes.
    ///
    /// - Throws: `bad_document` when there are not 20.
    public init(bytes: some Collection<UInt8>) throws(KithError) {
        guard bytes.count == Self.byteCount else { throw Self.refusal }
        var words = InlineWords()
        for byte in bytes { words.append(byte) }
        word0 = words.word0
        word1 = words.word1
        word2 = words.word2
    }

    /// Reads `sha1-` and 28 characters of base64.
    ///
    /// - Throws: `bad_document` when the text is anything else.
    public init(parsing text: String) throws(KithError) {
        let bytes: [UInt8]? = ByteText.withBytes(of: text) { text in
            guard text.count == 33, text[..<5].elementsEqual("sha1-".utf8) else { return nil }
            return Base64.decode(UnsafeRawBufferPointer(rebasing: text[5...]))
        }
        guard let bytes else { throw Self.refusal }
        try self.init(bytes: bytes)
    }

    /// The 20 bytes.
    public var bytes: [UInt8] {
        withUnsafeBytes(of: (word0.bigEndian, word1.bigEndian, word2.bigEndian)) { Array($0.prefix(Self.byteCount)) }
    }

    /// `sha1-` and base64.
    public var description: String {
        var text = Array("sha1-".utf8)
        Base64.encode(bytes, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Order by the 20 bytes.
    public static func < (a: AttachmentDigest, b: AttachmentDigest) -> Bool {
        (a.word0, a.word1, a.word2) < (b.word0, b.word1, b.word2)
    }

    private static var refusal: KithError {
        KithError(
            .badDocument, "this is not the digest of an attachment",
            remedy: "It is written sha1- and the base64 of 20 bytes; send data where another digest is at hand")
    }
}
