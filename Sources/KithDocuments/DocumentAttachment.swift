/// One attachment of a document as it is kept: everything about it except its bytes, which its digest names.
///
/// `encoding`, which CouchDB and Couchbase Lite write when the bytes are compressed, is kept and travels on: without it
/// nobody could tell that a reader must unpack them. Nothing here packs or unpacks.
public struct DocumentAttachment: Sendable, Equatable {
    /// The name: 1 to 1,024 bytes of UTF-8 without NUL, not beginning with `_`. Slashes are legal and mean nothing.
    public let name: String
    /// What names the bytes.
    public let digest: AttachmentDigest
    /// How many bytes there are.
    public let length: UInt64
    /// The type as a header of HTTP has it: printable ASCII.
    public let contentType: String
    /// The generation in which it was attached or changed, when it is known.
    public let revpos: UInt64?
    /// How the bytes are packed, `nil` when they are not.
    public let encoding: String?

    /// The content type of an attachment that came without one.
    public static let defaultContentType = "application/octet-stream"

    /// Makes the metadata of one attachment.
    ///
    /// - Parameter contentType: `nil` stands for `application/octet-stream`.
    /// - Throws: `bad_name` when the name is not legal; `bad_document` when the content type, the encoding or `revpos`
    ///   is not; `too_large` when the length is beyond `DocumentLimits.attachmentsBytesMax`.
    public init(
        name: String, digest: AttachmentDigest, length: UInt64, contentType: String? = nil, revpos: UInt64? = nil,
        encoding: String? = nil
    ) throws(KithError) {
        try Self.check(name: name)
        try Self.check(contentType: contentType, revpos: revpos, encoding: encoding)
        guard length <= DocumentLimits.attachmentsBytesMax else {
            throw KithError(
                .tooLarge,
                "an attachment is said to have \(length) bytes; \(DocumentLimits.attachmentsBytesMax) are allowed")
        }
        self.name = name
        self.digest = digest
        self.length = length
        self.contentType = contentType ?? Self.defaultContentType
        self.revpos = revpos
        self.encoding = encoding
    }

    /// Refuses what is no name of an attachment; for a name in a URL.
    ///
    /// - Throws: `bad_name`, saying what is wrong with it.
    public static func check(name: String) throws(KithError) {
        let problem: String? = ByteText.withBytes(of: name) { name in
            if name.isEmpty { return "is empty" }
            if name[0] == UInt8(ascii: "_") { return "begins with _" }
            if name.contains(0) { return "has a NUL in it" }
            guard name.count > DocumentLimits.attachmentNameBytesMax else { return nil }
            return "has \(name.count) bytes, the most is \(DocumentLimits.attachmentNameBytesMax)"
        }
        if let problem { throw KithError(.badName, "the name of an attachment \(problem)") }
    }

    static func check(contentType: String?, revpos: UInt64?, encoding: String?) throws(KithError) {
        // Both are sent in headers of HTTP, where a line end would begin another header.
        if let contentType, !isPrintable(contentType, DocumentLimits.attachmentTypeBytesMax) {
            throw KithError(
                .badDocument,
                "the content_type of an attachment is not 1 to "
                    + "\(DocumentLimits.attachmentTypeBytesMax) printable ASCII characters")
        }
        if let encoding, !isPrintable(encoding, DocumentLimits.attachmentEncodingBytesMax) {
            throw KithError(
                .badDocument,
                "the encoding of an attachment is not 1 to "
                    + "\(DocumentLimits.attachmentEncodingBytesMax) printable ASCII characters")
        }
        if let revpos, !(1...DocumentLimits.revisionGenerationMax).contains(revpos) {
            throw KithError(.badDocument, "the revpos of an attachment is no generation")
        }
    }

    private static func isPrintable(_ text: String, _ countMax: Int) -> Bool {
        (1...countMax).contains(text.utf8.count) && text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
    }

    /// Whether both are equal, the names as bytes.
    public static func == (a: DocumentAttachment, b: DocumentAttachment) -> Bool {
        ByteText.equal(a.name, b.name) && a.digest == b.digest && a.length == b.length
            && a.contentType == b.contentType && a.revpos == b.revpos && a.encoding == b.encoding
    }

    /// Its entry in `_attachments`, as a stub.
    var stub: JSONValue {
        var entry: JSONValue = [
            "content_type": .string(contentType), "digest": .string(digest.description), "length": JSONValue(length),
            "stub": true,
        ]
        if let revpos { entry["revpos"] = JSONValue(revpos) }
        if let encoding { entry["encoding"] = .string(encoding) }
        return entry
    }
}
