import KithDocuments
import KithStore
import KithWire

/// The bytes of one attachment as they come: unpacked where CouchDB has packed them, and held against its digest.
///
/// What it gives is a window: the next bytes are taken when the store has taken those before.
final class CouchDBAttachmentInput {
    let attachment: IncomingAttachment
    private let decoder: GzipDecoder?
    private let hash: ContentMD5?
    /// What takes the bytes, once the store has made it.
    var writer: BlobWriter?

    /// - Parameter encoding: how the part says that it is packed.
    init(_ attachment: IncomingAttachment, encoding: String?) throws {
        self.attachment = attachment
        // Another digest than CouchDB's is one over the bytes as they are kept.
        let encoding = attachment.encoding ?? encoding
        let isPacked = attachment.digest == nil && encoding.map { HTTPHeaders.isSame($0, "gzip") } ?? false
        decoder = isPacked ? try GzipDecoder() : nil
        hash = attachment.md5 == nil ? nil : try ContentMD5()
    }

    /// Whether what is kept is not what the document says of it.
    var isUnpacked: Bool { decoder != nil }

    /// Takes the next bytes of the answer.
    ///
    /// - Returns: bytes for the store; nil when `next` has them piece by piece.
    func take(_ bytes: [UInt8]) throws -> [UInt8]? {
        try hash?.add(bytes)
        guard let decoder else { return bytes }
        decoder.receive(bytes)
        return nil
    }

    /// The next piece of what was unpacked.
    func next() throws -> [UInt8]? { try decoder?.next() }

    /// All bytes have come.
    ///
    /// - Throws: `.badDocument` when they are not those that were sent.
    func end() throws {
        if let decoder, !decoder.isAtEnd {
            throw KithError(.badDocument, "the packed bytes of an attachment are cut off")
        }
        if let hash, try hash.end() != attachment.md5 {
            throw KithError(.badDocument, "the bytes of an attachment are not those of its digest")
        }
    }
}
