import KithDocuments
import KithStore
import KithTransport
import KithWire

/// The parts of a request's body as they come.
@LoopActor
final class MultipartReader {
    private let body: RESTBody
    private var parser: MultipartParser

    /// - Throws: `.badRequest` for a boundary that is none.
    init(_ body: RESTBody, boundary: String) throws(KithError) {
        self.body = body
        do {
            parser = try MultipartParser(boundary: boundary)
        } catch {
            throw error.kithError
        }
    }

    /// The next event; after `end` there is none.
    ///
    /// - Throws: `.badRequest` when the body ends before its last part, or is none of several parts; why no more comes.
    func next() async throws(KithError) -> MultipartEvent {
        while true {
            do {
                if let event = try parser.nextEvent() { return event }
            } catch {
                throw error.kithError
            }
            guard let bytes = try await body.next() else {
                throw KithError(.badRequest, "the body ends before the last of its parts")
            }
            parser.receive(bytes)
        }
    }
}

/// Bytes on their way into an attachment, unpacked where they come packed, and checked where their MD5 was told.
@LoopActor
final class AttachmentReceiver {
    private let writer: BlobWriter
    private let decoder: GzipDecoder?
    private let md5: (hash: ContentMD5, expected: [UInt8])?

    /// - Parameter md5: of the bytes as they come.
    init(
        _ database: Database, digest: AttachmentDigest?, length: UInt64?, isPacked: Bool, md5: [UInt8]?
    ) throws(KithError) {
        self.md5 = try md5.map { expected throws(KithError) in (try ContentMD5(), expected) }
        writer = try database.makeBlob(digest: digest, length: length)
        do {
            decoder = isPacked ? try GzipDecoder() : nil
        } catch {
            throw error.kithError
        }
    }

    func append(_ bytes: [UInt8]) async throws {
        try md5?.hash.add(bytes)
        guard let decoder else { return try await writer.append(bytes) }
        decoder.receive(bytes)
        do {
            while let piece = try decoder.next() { try await writer.append(piece) }
        } catch let error as HTTPParseError {
            throw error.kithError
        }
    }

    func finish() async throws -> Blob {
        if let decoder, !decoder.isAtEnd {
            throw KithError(.badRequest, "the packed bytes of an attachment are cut off")
        }
        if let md5, try md5.hash.end() != md5.expected {
            throw CouchDBError(
                "content_md5_mismatch", KithError(.badRequest, "the bytes of an attachment are not those of its MD5"))
        }
        return try await writer.finish()
    }
}
