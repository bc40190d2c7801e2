import KithDocuments
import KithStore

/// An answer, or a part of one, whose attachments are read when they are sent: it is small, however large they are.
struct RESTContent: Sendable {
    enum Segment: Sendable {
        case bytes([UInt8])
        /// The bytes of an attachment.
        case blob(AttachmentDigest, Range<UInt64>)
        /// The bytes of an attachment in base64.
        case base64(AttachmentDigest, length: UInt64)
    }

    private(set) var segments: [Segment] = []
    /// What is at the end and may grow.
    private var tail: [UInt8] = []

    init() {}

    init(_ bytes: [UInt8]) { tail = bytes }

    /// How many bytes are in memory.
    var heldByteCount: Int {
        segments.reduce(tail.count) { sum, segment in
            if case .bytes(let bytes) = segment { sum + bytes.count } else { sum + 64 }
        }
    }

    /// How many bytes are sent.
    var byteCount: UInt64 {
        segments.reduce(UInt64(tail.count)) { sum, segment in
            switch segment {
            case .bytes(let bytes): sum + UInt64(bytes.count)
            case .blob(_, let range): sum + UInt64(range.count)
            case .base64(_, let length): sum + (length + 2) / 3 * 4
            }
        }
    }

    /// All of it, where no attachment is in it.
    var bytes: [UInt8]? { segments.isEmpty ? tail : nil }

    var isEmpty: Bool { segments.isEmpty && tail.isEmpty }

    /// All segments, the last one included.
    var all: [Segment] { tail.isEmpty ? segments : segments + [.bytes(tail)] }

    mutating func append(_ text: String) { tail.append(contentsOf: text.utf8) }
    mutating func append(_ bytes: [UInt8]) { tail.append(contentsOf: bytes) }
    mutating func append(_ bytes: ArraySlice<UInt8>) { tail.append(contentsOf: bytes) }
    mutating func append(_ byte: UInt8) { tail.append(byte) }
    mutating func append(json value: JSONValue) { value.append(to: &tail) }
    mutating func append(jsonString text: String) { JSONValue.append(text, to: &tail) }
    mutating func append(_ revision: RevisionID) { revision.append(to: &tail) }

    mutating func append(_ other: RESTContent) {
        for segment in other.all {
            if case .bytes(let bytes) = segment { append(bytes) } else { append(segment) }
        }
    }

    mutating func append(_ segment: Segment) {
        if !tail.isEmpty {
            segments.append(.bytes(tail))
            tail = []
        }
        segments.append(segment)
    }
}

extension RESTExchange {
    /// Sends what may have attachments in it, and waits while the client reads slowly.
    ///
    /// - Throws: when an attachment cannot be read, or is no longer there: the answer cannot be completed then.
    func send(_ content: RESTContent, from keyspace: Keyspace) async throws {
        for segment in content.all {
            switch segment {
            case .bytes(let bytes): await send(bytes)
            case .blob(let digest, let range):
                try await sendBlob(digest, range, pieceBytes: NodeLimits.attachmentPieceBytes, from: keyspace) { $0 }
            case .base64(let digest, let length):
                // A number of bytes that base64 spells without padding in between.
                try await sendBlob(
                    digest, 0..<length, pieceBytes: NodeLimits.attachmentPieceBytes / 3 * 3, from: keyspace
                ) { Base64.text(of: $0) }
            }
        }
    }

    /// Each piece is read for itself, so that a slow client keeps no state of the database alive.
    private func sendBlob(
        _ digest: AttachmentDigest, _ range: Range<UInt64>, pieceBytes: Int, from keyspace: Keyspace,
        _ transform: @escaping @Sendable ([UInt8]) -> [UInt8]
    ) async throws {
        var next = range.lowerBound
        while next < range.upperBound, !isClosed {
            let wanted = next..<min(next + UInt64(pieceBytes), range.upperBound)
            // Encoded where it is read, and not on the loop.
            let bytes = try await keyspace.database.read { snapshot in
                var bytes: [UInt8] = []
                bytes.reserveCapacity(wanted.count)
                try snapshot.readBlob(digest, range: wanted) { piece in
                    bytes.append(contentsOf: piece)
                    return true
                }
                guard bytes.count == wanted.count else {
                    throw KithError(.damaged, "an attachment is shorter than its document says")
                }
                return transform(bytes)
            }
            await send(bytes)
            next = wanted.upperBound
        }
    }

    /// Answers with content of a known length.
    func respond(
        _ status: Int, _ content: RESTContent, contentType: String = "application/json",
        headers: [(name: String, value: String)] = [], from keyspace: Keyspace
    ) async {
        if let bytes = content.bytes {
            var answer = HTTPAnswer(status, body: bytes, headers: headers)
            answer.contentType = contentType
            return respond(answer)
        }
        startStream(status, contentType: contentType, headers: headers, length: content.byteCount)
        do {
            try await send(content, from: keyspace)
        } catch {
            return breakStream()
        }
        endStream()
    }
}
