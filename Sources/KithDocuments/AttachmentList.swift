/// The attachments of one revision, rising by the bytes of their names; no two have the same.
public struct AttachmentList: Sendable, Equatable {
    private let attachments: [DocumentAttachment]

    /// No attachments.
    public init() {
        attachments = []
    }

    /// These attachments, in any order.
    ///
    /// - Throws: `bad_document` when two have the same name or there are more than `DocumentLimits.attachmentsMax`;
    ///   `too_large` when all together have more than `DocumentLimits.attachmentsBytesMax` bytes.
    public init(_ attachments: some Sequence<DocumentAttachment>) throws(KithError) {
        let sorted = attachments.sorted { ByteText.compare($0.name, $1.name) < 0 }
        guard sorted.count <= DocumentLimits.attachmentsMax else {
            throw KithError(
                .badDocument,
                "the document has \(sorted.count) attachments, the most is \(DocumentLimits.attachmentsMax)")
        }
        for (one, next) in zip(sorted, sorted.dropFirst()) where ByteText.equal(one.name, next.name) {
            throw KithError(.badDocument, "the document has two attachments of one name")
        }
        // At most 10,000 of at most 2^40 bytes each: the sum fits.
        guard sorted.reduce(0, { $0 + $1.length }) <= DocumentLimits.attachmentsBytesMax else {
            throw KithError(
                .tooLarge,
                "the attachments have more than \(DocumentLimits.attachmentsBytesMax) bytes in all")
        }
        self.attachments = sorted
    }

    /// Reads the value of `_attachments` in which every entry is a stub with its digest and its length: as documents are
    /// kept and as they come in replication.
    ///
    /// - Parameter bytes: a JSON text in canonical form.
    /// - Throws: as `IncomingAttachment.list`, and `bad_document` when an entry is no such stub.
    public init(canonical bytes: [UInt8]) throws(KithError) {
        try self.init(stubs: IncomingAttachment.list(JSONValue(canonical: bytes)))
    }

    /// The attachments that entries describe which are all stubs with digest and length.
    ///
    /// - Throws: `bad_document` when an entry is no such stub; and as the other initialisers.
    public init(stubs: [IncomingAttachment]) throws(KithError) {
        var attachments: [DocumentAttachment] = []
        attachments.reserveCapacity(stubs.count)
        for stub in stubs {
            guard stub.content == .stub, let digest = stub.digest, let length = stub.length else {
                throw KithError(
                    .badDocument, "an attachment is not a stub with digest and length",
                    remedy: "Bytes do not travel within the document here")
            }
            attachments.append(try stub.resolved(digest: digest, length: length))
        }
        try self.init(attachments)
    }

    /// The attachment of this name, compared as bytes, or `nil`.
    public subscript(name: String) -> DocumentAttachment? {
        var low = 0
        var high = attachments.count
        while low < high {
            let middle = (low + high) >> 1
            let order = ByteText.compare(attachments[middle].name, name)
            if order == 0 { return attachments[middle] }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return nil
    }

    /// The digests of all bytes that the revision needs, rising, each once.
    public var digests: [AttachmentDigest] { Set(attachments.map(\.digest)).sorted() }

    /// The value of `_attachments` with every entry as a stub, in canonical form; `{}` when there are none.
    public func canonicalBytes() -> [UInt8] {
        JSONValue.object(JSONObject(sorted: attachments.map { ($0.name, $0.stub) })).canonicalBytes()
    }
}

extension AttachmentList: RandomAccessCollection {
    /// Place of the first attachment.
    public var startIndex: Int { 0 }
    /// Place behind the last attachment.
    public var endIndex: Int { attachments.count }
    /// The attachment at a place.
    public subscript(position: Int) -> DocumentAttachment { attachments[position] }
}
