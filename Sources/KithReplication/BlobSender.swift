import KithDocuments
import KithStore
import KithWire

/// Sends the peer the blobs that it asks for, piece by piece as the link has room, a few at a time.
///
/// It gives out only blobs of revisions that were sent and are not answered: whoever may not read a document cannot read
/// its attachments by guessing digests.
final class BlobSender {
    /// The property of `getAttachment` in which a Kith node says how many bytes it has from a link that was lost. Others
    /// neither send nor know it.
    static let offsetProperty = "kith-offset"

    private unowned let session: ReplicationSession
    private let limits: ReplicationLimits
    /// How many unanswered revisions need a blob.
    private var needed: [AttachmentDigest: Int] = [:]
    private var waiting: [BLIPMessage] = []
    private var waitingHead = 0
    private var reads: [UInt64: Read] = [:]
    /// Requests being answered whose last bytes are not read.
    private var openCount = 0

    /// A blob that is being sent.
    private struct Read {
        let digest: AttachmentDigest
        var offset: UInt64
        let length: UInt64
    }

    init(session: ReplicationSession) {
        self.session = session
        self.limits = session.configuration.limits
    }

    /// Whether the peer may ask for attachments.
    var isNeeded: Bool { !needed.isEmpty }

    // MARK: Inputs

    /// A revision with these attachments is on its way.
    func noteSent(_ digests: [AttachmentDigest]) {
        for digest in digests { needed[digest, default: 0] += 1 }
    }

    /// The revision was answered.
    func noteAnswered(_ digests: [AttachmentDigest]) {
        for digest in digests {
            guard let count = needed[digest] else { continue }
            needed[digest] = count > 1 ? count - 1 : nil
        }
    }

    /// `getAttachment` or `proveAttachment`.
    func receive(_ message: BLIPMessage) {
        guard !message.isNoReply else { return }
        session.activity.blobs += 1
        guard waiting.count - waitingHead < limits.waitingBlobRequestsMax else {
            return session.replyError(domain: "HTTP", code: 503, "too many attachments are asked for", to: message)
        }
        waiting.append(message)
        work()
    }

    /// Does what there is room for; called whenever a frame was taken as well.
    func work() {
        for tag in session.takeHungryPulls() { readNext(tag) }
        while openCount < limits.blobRepliesMax, waitingHead < waiting.count,
            session.queuedBlobBytes < limits.blobBytesQueuedMax
        {
            let message = waiting[waitingHead]
            waitingHead += 1
            if waitingHead == waiting.count || waitingHead > 1_024 {
                waiting.removeFirst(waitingHead)
                waitingHead = 0
            }
            begin(message)
        }
    }

    // MARK: Answering

    private func begin(_ message: BLIPMessage) {
        guard let text = message.properties["digest"], let digest = try? AttachmentDigest(parsing: text) else {
            return session.replyError(
                domain: "HTTP", code: 400, "digest must be sha1- and the base64 of 20 bytes", to: message)
        }
        let isProof = message.properties["Profile"] == "proveAttachment"
        guard needed[digest] != nil else {
            // The codes that Sync Gateway has for it, which makes of the second a `getAttachment`.
            return session.replyError(
                domain: "HTTP", code: isProof ? 404 : 403, "the attachment is not part of a revision in flight",
                to: message)
        }
        openCount += 1
        if isProof { return prove(digest, message) }
        let offset = session.configuration.peerIsKith ? max(0, message.properties.int(Self.offsetProperty) ?? 0) : 0
        // The first piece ends with a row of the store, so that the others are one row each.
        let count = limits.blobPieceBytes - offset % limits.blobPieceBytes
        session.perform(.readBlobPiece(digest, offset: UInt64(offset), count: count)) { [unowned self] result in
            openCount -= 1
            switch result {
            case .blobPiece(let bytes, let length):
                reply(bytes, from: min(UInt64(offset), length), length, digest, message)
            case .noBlob: replyGone(message)
            default: replyFailure(result, message)
            }
            work()
        }
    }

    private func reply(
        _ bytes: [UInt8], from start: UInt64, _ length: UInt64, _ digest: AttachmentDigest, _ message: BLIPMessage
    ) {
        let tag = session.makeTag()
        session.standing.attachmentBytesSent += UInt64(bytes.count)
        let offset = start + UInt64(bytes.count)
        if offset < length {
            openCount += 1
            reads[tag] = Read(digest: digest, offset: offset, length: length)
        }
        session.reply(to: message, BLIPOutgoing(body: bytes), pulling: Int(length - start), tag: tag)
    }

    private func readNext(_ tag: UInt64) {
        guard let read = reads[tag] else { return session.endPull(tag) }
        session.perform(
            .readBlobPiece(read.digest, offset: read.offset, count: limits.blobPieceBytes)
        ) { [unowned self] result in
            if case .blobPiece(let bytes, read.length) = result, !bytes.isEmpty {
                session.standing.attachmentBytesSent += UInt64(bytes.count)
                session.activity.blobs += 1
                session.provide(bytes, toPull: tag)
                let offset = read.offset + UInt64(bytes.count)
                reads[tag] = offset < read.length ? Read(digest: read.digest, offset: offset, length: read.length) : nil
            } else {
                // Removed since its document was edited, or damaged: the peer sees that bytes are missing, and asks again.
                reads[tag] = nil
                session.endPull(tag)
            }
            if reads[tag] == nil { openCount -= 1 }
            work()
        }
    }

    private func prove(_ digest: AttachmentDigest, _ message: BLIPMessage) {
        guard (1...255).contains(message.body.count) else {
            openCount -= 1
            return session.replyError(domain: "HTTP", code: 400, "a nonce has 1 to 255 bytes", to: message)
        }
        let prefix = [UInt8(message.body.count)] + message.body
        session.perform(.proveBlob(digest, after: prefix)) { [unowned self] result in
            openCount -= 1
            switch result {
            case .blobProof(let proof): session.reply(to: message, BLIPOutgoing(body: Array(proof.description.utf8)))
            case .noBlob: session.replyError(domain: "HTTP", code: 404, "there is no such attachment", to: message)
            default: replyFailure(result, message)
            }
            work()
        }
    }

    /// Each leaf has its blobs, so the revision is no leaf any more; a newer one will be announced.
    private func replyGone(_ message: BLIPMessage) {
        session.replyError(
            domain: "HTTP", code: 410, "the attachment went with the revision that had it", to: message)
    }

    private func replyFailure(_ result: StoreResult, _ message: BLIPMessage) {
        // A damaged blob is the affair of the documents that have it; what is wrong with the disk ends the link.
        guard case .failed(let error) = result, error.code == .damaged else { return session.storeFailed(result) }
        session.replyError(error, to: message)
    }
}
