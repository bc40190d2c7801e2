import KithDocuments
import KithStore
import KithWire

/// One document with attachments on its way to the server: `multipart/related` (RFC 2387), the document first and then the bytes of
/// the attachments that it lacks, read from the store as they are sent.
final class CouchDBUpload {
    /// What came of it.
    enum Outcome {
        case answered(CouchDBAnswer)
        /// The bytes of an attachment are not here any more: neither is the revision.
        case gone
        /// The bytes of an attachment cannot be read here.
        case unreadable(KithError)
        /// The server has failed on it too often.
        case failed(KithError)
    }

    private enum Piece {
        case bytes([UInt8])
        case blob(AttachmentDigest, length: UInt64)
    }

    private unowned let session: CouchDBReplicator
    private var pieces: [Piece] = []
    private var length: UInt64 = 0
    private var offset: UInt64 = 0
    private let boundary: String
    private let name: RevisionName
    /// Called once.
    private var then: ((Outcome) -> Void)?
    private var isReading = false

    /// - Parameter known: revisions that the server has; attachments that were there in one of them are only told of.
    init(
        session: CouchDBReplicator, _ revision: RevisionForTransfer, knowing known: [RevisionID], sendsAll: Bool,
        then: @escaping (Outcome) -> Void
    ) {
        self.session = session
        self.then = then
        name = RevisionName(id: revision.id, revision: revision.revision)
        boundary = "kith-\(session.configuration.boundary)"
        let knownGeneration =
            sendsAll ? 0 : revision.history.filter(Set(known).contains).map(\.generation).max() ?? 0
        var stubs: [(String, JSONValue)] = []
        var sent: [DocumentAttachment] = []
        for attachment in revision.attachments {
            let isKnown = attachment.revpos.map { $0 <= knownGeneration } ?? false
            if !isKnown { sent.append(attachment) }
            var stub: [(String, JSONValue)] = [
                ("content_type", .string(attachment.contentType)), ("digest", .string(attachment.digest.description)),
                ("length", JSONValue(attachment.length)), (isKnown ? "stub" : "follows", true),
            ]
            if let revpos = attachment.revpos { stub.append(("revpos", JSONValue(revpos))) }
            if let encoding = attachment.encoding {
                stub.append(("encoding", .string(encoding)))
                stub.append(("encoded_length", JSONValue(attachment.length)))
            }
            stubs.append((attachment.name, JSONValue(object: stub)))
        }
        // The bytes follow in the order of the text, by which CouchDB knows them: both rise by the bytes of the names.
        var document: [UInt8] = []
        CouchDBDocument.append(
            revision, knowing: known, max: session.limits.historyMax,
            attachments: JSONValue(object: stubs).canonicalBytes(), to: &document)
        add("--\(boundary)\r\nContent-Type: application/json\r\n\r\n")
        add(.bytes(document), UInt64(document.count))
        for attachment in sent {
            var head = "\r\n--\(boundary)\r\nContent-Disposition: "
            head += HTTPContentDisposition.attachment(fileName: attachment.name)
            head += "\r\nContent-Type: \(attachment.contentType)\r\nContent-Length: \(attachment.length)\r\n"
            if let encoding = attachment.encoding { head += "Content-Encoding: \(encoding)\r\n" }
            add(head + "\r\n")
            add(.blob(attachment.digest, length: attachment.length), attachment.length)
        }
        add("\r\n--\(boundary)--")
    }

    private func add(_ text: String) { add(.bytes(Array(text.utf8)), UInt64(text.utf8.count)) }

    private func add(_ piece: Piece, _ count: UInt64) {
        pieces.append(piece)
        length += count
    }

    func begin() {
        var request = CouchDBRequest("PUT", CouchDBPath.document(name.id) + "?new_edits=false")
        request.headers = [("Content-Type", "multipart/related; boundary=\"\(boundary)\"")]
        request.body = .stream(length: length)
        request.about = [.init(name: name, isOutgoing: true)]
        // The handlers hold it until the answer has come.
        let exchange = session.send(
            request, bodyMax: session.limits.stateAnswerBytesMax, isEndless: true
        ) { [self] answer in
            end(.answered(answer))
        }
        exchange.onFailed = { [self] error in end(.failed(error)) }
        exchange.onWanted = { [self, unowned exchange] in give(exchange) }
    }

    /// Gives the next piece, one at a time.
    private func give(_ exchange: CouchDBExchange) {
        guard !isReading, let piece = pieces.first else { return }
        switch piece {
        case .bytes(let bytes):
            pieces.removeFirst()
            session.sendBody(exchange, bytes, isLast: pieces.isEmpty)
        case .blob(_, let length) where offset == length:
            (offset, _) = (0, pieces.removeFirst())
            give(exchange)
        case .blob(let digest, let length):
            isReading = true
            let count = Int(min(UInt64(session.limits.attachmentPieceBytes), length - offset))
            session.perform(.readBlobPiece(digest, offset: offset, count: count)) { [self] result in
                isReading = false
                switch result {
                case .blobPiece(let bytes, _) where bytes.count == count:
                    offset += UInt64(bytes.count)
                    session.counts.attachmentBytesSent += UInt64(bytes.count)
                    session.sendBody(exchange, bytes, isLast: false)
                case .noBlob:
                    session.cancel(exchange)
                    end(.gone)
                case .failed(let error) where error.code == .damaged:
                    session.cancel(exchange)
                    end(.unreadable(error))
                default: session.storeFailed(result)
                }
            }
        }
    }

    private func end(_ outcome: Outcome) {
        // A server may answer before it has all.
        let then = self.then
        self.then = nil
        then?(outcome)
    }
}
