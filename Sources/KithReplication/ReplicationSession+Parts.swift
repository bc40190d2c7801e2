import KithDocuments
import KithWire

// What the parts of a session say to the peer, and how they end the link.

extension ReplicationSession {
    func consume(_ count: Int, ofResponseTo tag: UInt64) { blip.consume(count, ofResponseTo: tag) }

    /// Answers with a body of which more is provided when it is asked for.
    func reply(to message: BLIPMessage, _ head: BLIPOutgoing, pulling byteCount: Int, tag: UInt64) {
        blip.reply(head, pulling: byteCount, tag: tag, to: message.number)
    }

    func takeHungryPulls() -> [UInt64] { blip.takeHungryPulls() }
    func provide(_ bytes: [UInt8], toPull tag: UInt64) { blip.provide(bytes, toPull: tag) }
    func endPull(_ tag: UInt64) { blip.endPull(tag) }
    /// Bytes of blobs that wait to be sent.
    var queuedBlobBytes: Int { blip.queuedPullBytes }

    func reply(to message: BLIPMessage, _ reply: BLIPOutgoing = BLIPOutgoing()) {
        self.reply(to: message.number, reply)
    }

    /// Answers a request by its number; one that wants no answer gets none.
    func reply(to number: UInt64, _ reply: BLIPOutgoing = BLIPOutgoing()) { _ = blip.reply(reply, to: number) }

    func replyError(_ error: KithError, to message: BLIPMessage) { replyError(error, to: message.number) }

    func replyError(_ error: KithError, to number: UInt64) {
        replyError(domain: "HTTP", code: error.code.httpStatus, error.message, to: number)
    }

    func replyError(domain: String, code: Int, _ text: String, to message: BLIPMessage) {
        replyError(domain: domain, code: code, text, to: message.number)
    }

    func replyError(domain: String, code: Int, _ text: String, to number: UInt64) {
        _ = blip.replyError(domain: domain, code: code, message: text, to: number)
    }

    func violation(_ error: KithError) { end(closeCode: 1002, error.message, code: error.code) }

    /// The store failed at something that cannot be laid to one document: the link ends and comes again later.
    func storeFailed(_ result: StoreResult) {
        guard case .failed(let error) = result else {
            return end(closeCode: 1011, "the store answered something else than was asked")
        }
        // What is not found is a collection that was dropped while linked: the next link opens it anew.
        let comesAgain = error.code.isRetryable || error.code == .notFound
        end(closeCode: comesAgain ? 4001 : 1011, "the store failed: \(error.message)", code: error.code)
    }

    /// A whole collection is not replicated.
    func refused(
        _ collection: CollectionName, by side: ReplicationRefusal.Side, isOutgoing: Bool, code: Int, reason: String
    ) {
        note(
            ReplicationRefusal(
                collection: collection, id: ReplicationRefusal.wholeCollection, revision: "", side: side,
                isOutgoing: isOutgoing, code: code, reason: reason, wallSeconds: now.wallSeconds))
    }
}
