/// One entry of `_attachments` as somebody sends it: what it says, which may be less than a `DocumentAttachment` has, and
/// where the bytes are.
public struct IncomingAttachment: Sendable, Equatable {
    /// Where the bytes are.
    public enum Content: Sendable, Equatable {
        /// They are kept already (`"stub": true`): under the digest, or without one, as the attachment of this name in
        /// the parent revision.
        case stub
        /// They come behind the document (`"follows": true`), as a part of their own.
        case follows
        /// They are here, as base64 (`data`).
        case inline([UInt8])
    }

    /// The name, which is legal.
    public let name: String
    /// Where the bytes are.
    public let content: Content
    /// The content type, when it was told.
    public let contentType: String?
    /// The digest, when it was told. One of another kind (CouchDB's MD5) is left out, since nothing is known by it here.
    public let digest: AttachmentDigest?
    /// CouchDB's digest, when it was told: the 16 bytes of the MD5 over the bytes as they are sent, packed or not.
    public let md5: [UInt8]?
    /// How many bytes there are, when it was told; for `data`, how many came.
    public let length: UInt64?
    /// The generation in which it was attached, when it was told.
    public let revpos: UInt64?
    /// How the bytes are packed, when it was told.
    public let encoding: String?

    /// Reads the value of `_attachments`.
    ///
    /// - Returns: the entries, rising by the bytes of their names.
    /// - Throws: `bad_document` when it is not an object of such entries, has more than
    ///   `DocumentLimits.attachmentsMax`, or an entry has a member that is not known; `bad_name` for a name that is not
    ///   legal; `too_large` when all together are said to be more than `DocumentLimits.attachmentsBytesMax`. The entry is
    ///   named.
    public static func list(_ value: JSONValue) throws(KithError) -> [IncomingAttachment] {
        guard let object = value.objectValue else { throw KithError(.badDocument, "_attachments must be an object") }
        guard object.count <= DocumentLimits.attachmentsMax else {
            throw KithError(
                .badDocument,
                "_attachments has \(object.count) entries, the most is \(DocumentLimits.attachmentsMax)")
        }
        var result: [IncomingAttachment] = []
        result.reserveCapacity(object.count)
        var bytes: UInt64 = 0
        for (name, entry) in object {
            try DocumentAttachment.check(name: name)
            let attachment = try IncomingAttachment(name: name, entry)
            // Neither is above the limit, so the sum fits.
            bytes += min(attachment.length ?? 0, DocumentLimits.attachmentsBytesMax)
            guard bytes <= DocumentLimits.attachmentsBytesMax else {
                throw KithError(
                    .tooLarge,
                    "the attachments are said to have more than \(DocumentLimits.attachmentsBytesMax) bytes in all")
            }
            if attachment.length ?? 0 > DocumentLimits.attachmentsBytesMax { throw attachment.wrong("length") }
            result.append(attachment)
        }
        return result
    }

    /// The attachment as it is kept, when the caller has or found its bytes.
    ///
    /// - Parameters:
    ///   - digest: of the bytes.
    ///   - length: of the bytes.
    ///   - revpos: where none was told, the generation of the revision that is written.
    ///   - contentType: where none was told, such as that of the parent's attachment.
    /// - Throws: `bad_document` when what was told of digest or length is not so; and as `DocumentAttachment` does.
    public func resolved(
        digest: AttachmentDigest, length: UInt64, revpos: UInt64? = nil, contentType: String? = nil
    ) throws(KithError) -> DocumentAttachment {
        if let told = self.digest, told != digest { throw wrong("digest") }
        if let told = self.length, told != length { throw wrong("length") }
        return try DocumentAttachment(
            name: name, digest: digest, length: length, contentType: self.contentType ?? contentType,
            revpos: self.revpos ?? revpos, encoding: encoding)
    }

    private init(name: String, _ entry: JSONValue) throws(KithError) {
        guard let object = entry.objectValue else { throw Self.wrong("entry", of: name) }
        var content: Content?
        var contentType: String?
        var digestText: String?
        var length: UInt64?
        var revpos: UInt64?
        var encoding: String?
        for (member, value) in object {
            let isLegal: Bool
            switch member {
            case "data":
                let bytes = value.stringValue.flatMap { ByteText.withBytes(of: $0) { Base64.decode($0) } }
                isLegal = bytes != nil && content == nil
                content = .inline(bytes ?? [])
            case "follows", "stub":
                // `false` is written by some beside the other one.
                isLegal = value.boolValue != nil && (value == false || content == nil)
                if value == true { content = member == "stub" ? .stub : .follows }
            case "content_type":
                contentType = value.stringValue
                isLegal = contentType != nil
            case "digest":
                digestText = value.stringValue
                isLegal = digestText != nil
            case "length":
                length = value.uint64Value
                isLegal = length != nil
            case "revpos":
                revpos = value.uint64Value
                isLegal = revpos != nil
            case "encoding":
                encoding = value.stringValue
                isLegal = encoding != nil
            case "encoded_length", "ver":
                // The length when packed (CouchDB) and the version of Sync Gateway's own storage: nothing depends on it.
                isLegal = true
            default: isLegal = false
            }
            guard isLegal else { throw Self.wrong(member, of: name) }
        }
        guard let content else {
            throw KithError(
                .badDocument, "the attachment \(Self.shown(name)) has no bytes",
                remedy: "It needs data, or stub or follows that is true")
        }
        try DocumentAttachment.check(contentType: contentType, revpos: revpos, encoding: encoding)
        if case .inline(let bytes) = content {
            guard length == nil || length == UInt64(bytes.count) else { throw Self.wrong("length", of: name) }
            length = UInt64(bytes.count)
            digest = if let digestText { try? AttachmentDigest(parsing: digestText) } else { nil }
        } else {
            let isForeign = digestText?.utf8.starts(with: "md5-".utf8) ?? false
            digest = if let digestText, !isForeign { try AttachmentDigest(parsing: digestText) } else { nil }
        }
        md5 = digestText.flatMap(Self.md5)
        self.name = name
        self.content = content
        self.contentType = contentType
        self.length = length
        self.revpos = revpos
        self.encoding = encoding
    }

    private static func md5(_ text: String) -> [UInt8]? {
        guard text.utf8.starts(with: "md5-".utf8) else { return nil }
        guard let bytes = Base64.decode(String(text.dropFirst(4))), bytes.count == 16 else { return nil }
        return bytes
    }

    func wrong(_ member: String) -> KithError { Self.wrong(member, of: name) }

    private static func wrong(_ member: String, of name: String) -> KithError {
        KithError(.badDocument, "the attachment \(shown(name)) has a wrong or unknown \(shown(member))")
    }

    /// A name cut for messages.
    private static func shown(_ name: String) -> String {
        String(String.UnicodeScalarView(name.unicodeScalars.prefix(64).map { $0.value < 0x20 ? "?" : $0 }))
    }

    /// Whether both are equal, the names as bytes.
    public static func == (a: IncomingAttachment, b: IncomingAttachment) -> Bool {
        ByteText.equal(a.name, b.name) && a.content == b.content && a.contentType == b.contentType
            && a.digest == b.digest && a.md5 == b.md5 && a.length == b.length && a.revpos == b.revpos
            && a.encoding == b.encoding
    }
}
