import KithDocuments
import KithStore
import KithWire

/// Holds revisions back until the bytes of their attachments are stored, and fetches what is missing from the peer: one
/// blob after the other for each document, each blob once for all documents that wait for it, a few at a time.
///
/// Bytes are acknowledged to the peer when the store has taken them, so that a blob of any length takes a window of memory.
final class BlobReceiver {
    private unowned let replicator: CollectionReplicator
    private var session: ReplicationSession { replicator.session }
    private let limits: ReplicationLimits
    private let windows: SharedWindows
    /// Gets a revision whose blobs are all stored.
    private let ready: (ReceivedRevision) -> Void
    /// Gets a revision that cannot be stored, with what to tell the peer.
    private let refuse: (ReceivedRevision, KithError) -> Void
    /// Gets a revision whose blobs the peer has no longer, since a newer one took its place.
    private let gone: (ReceivedRevision) -> Void

    private var held: [Int: Held] = [:]
    private var nextNumber = 0
    /// Revisions whose blobs have to be looked up.
    private var unchecked: [Int] = []
    private var isChecking = false
    /// What was stored while a look-up was under way, which may not have seen it.
    private var storedMeanwhile: Set<BlobKey> = []
    /// The blobs that are missing, with who waits for them.
    private var wanted: [BlobKey: Set<Int>] = [:]
    /// Blobs that are asked for, or that wait for their turn.
    private var fetching: Set<BlobKey> = []
    private var queue: [BlobKey] = []
    private var queueHead = 0
    /// How often a blob ended early.
    private var earlyEnds: [BlobKey: Int] = [:]
    /// Blobs that this link fetches from the start, since it went wrong to go on with what others had brought. Each is wanted.
    private var fromStart: Set<BlobKey> = []

    private struct Held {
        var item: ReceivedRevision
        /// The blobs to fetch, the next one last.
        var missing: [BlobKey]
    }

    init(
        replicator: CollectionReplicator, ready: @escaping (ReceivedRevision) -> Void,
        refuse: @escaping (ReceivedRevision, KithError) -> Void, gone: @escaping (ReceivedRevision) -> Void
    ) {
        self.replicator = replicator
        self.limits = replicator.configuration.limits
        self.windows = replicator.windows
        self.ready = ready
        self.refuse = refuse
        self.gone = gone
    }

    /// Revisions that are held back.
    var count: Int { held.count }

    // MARK: Looking up

    /// Takes a revision with attachments.
    func hold(_ item: ReceivedRevision) {
        let number = nextNumber
        nextNumber += 1
        var item = item
        item.blobAttempts += 1
        held[number] = Held(item: item, missing: [])
        windows.heldRevisions += 1
        windows.heldBytes += item.size
        unchecked.append(number)
        check()
    }

    private func check() {
        guard !isChecking, !unchecked.isEmpty else { return }
        var numbers: [Int] = []
        var digests: Set<AttachmentDigest> = []
        for number in unchecked where numbers.isEmpty || digests.count < limits.blobLookUpMax {
            numbers.append(number)
            for attachment in held[number]?.item.revision.attachments ?? AttachmentList() {
                digests.insert(attachment.digest)
            }
        }
        unchecked.removeFirst(numbers.count)
        isChecking = true
        let asked = digests.sorted()
        replicator.perform(.hasBlobs(asked)) { [unowned self] result in
            isChecking = false
            guard case .blobLengths(let lengths) = result else { return session.storeFailed(result) }
            var stored: [AttachmentDigest: UInt64] = [:]
            for (digest, length) in zip(asked, lengths) { stored[digest] = length }
            for key in storedMeanwhile { stored[key.digest] = key.length }
            storedMeanwhile.removeAll()
            for number in numbers { sort(number, stored) }
            check()
        }
    }

    /// Says what a revision lacks, and begins to fetch it.
    private func sort(_ number: Int, _ stored: [AttachmentDigest: UInt64]) {
        guard let attachments = held[number]?.item.revision.attachments else { return }
        var missing: [BlobKey] = []
        var seen: Set<BlobKey> = []
        for attachment in attachments {
            let key = BlobKey(digest: attachment.digest, length: attachment.length)
            guard seen.insert(key).inserted else { continue }
            guard let length = stored[key.digest] else {
                missing.append(key)
                continue
            }
            guard length == key.length else {
                return finish(number) { refuse($0, Self.wrongLength(key, length)) }
            }
        }
        for key in missing { wanted[key, default: []].insert(number) }
        held[number]?.missing = missing.reversed()
        advance(number)
    }

    /// Goes to the next blob that a revision lacks, or hands the revision on when it lacks none.
    private func advance(_ number: Int) {
        while let key = held[number]?.missing.last {
            guard wanted[key] == nil else {
                // It came once for this revision, and went again before the others had come.
                wanted[key]?.insert(number)
                if fetching.insert(key).inserted { queue.append(key) }
                return
            }
            held[number]?.missing.removeLast()
        }
        finish(number, ready)
    }

    /// Hands a revision on. Others that wait for the same blobs are not touched.
    private func finish(_ number: Int, _ then: (ReceivedRevision) -> Void) {
        guard let entry = held.removeValue(forKey: number) else { return }
        windows.heldRevisions -= 1
        windows.heldBytes -= entry.item.size
        for key in entry.missing {
            guard wanted[key]?.remove(number) != nil, wanted[key]?.isEmpty == true else { continue }
            wanted[key] = nil
        }
        then(entry.item)
    }

    // MARK: Fetching

    /// Whether blobs wait for their turn.
    var hasQueue: Bool { queueHead < queue.count }

    /// Begins what there is room for.
    func fetchNext() {
        while windows.openFetches < limits.fetchesMax, queueHead < queue.count {
            let key = queue[queueHead]
            queueHead += 1
            if queueHead == queue.count || queueHead > 1_024 {
                queue.removeFirst(queueHead)
                queueHead = 0
            }
            // Nobody may want it any more.
            guard let number = wanted[key]?.min(), let id = held[number]?.item.revision.id else {
                fetching.remove(key)
                forgetAttempts(key)
                continue
            }
            windows.openFetches += 1
            begin(BlobFetch(key), id)
        }
    }

    private func begin(_ fetch: BlobFetch, _ id: DocumentID) {
        let (digest, length) = (fetch.key.digest, fetch.key.length)
        // Only Kith nodes begin in the middle.
        let resumes = replicator.configuration.peerIsKith && !fromStart.contains(fetch.key)
        replicator.perform(.beginBlob(digest, length: length, resumes: resumes)) { [unowned self] result in
            guard case .blobBegun(let blob, let offset) = result else { return session.storeFailed(result) }
            fetch.blob = blob
            fetch.offset = offset
            fetch.receivedBytes = offset
            var properties: BLIPProperties = [
                "Profile": "getAttachment", "digest": digest.description, "docID": id.text,
            ]
            if offset > 0 { properties.append(BlobSender.offsetProperty, String(offset)) }
            fetch.tag = replicator.send(
                BLIPOutgoing(properties: properties),
                part: { [unowned self] bytes in receive(bytes, fetch) },
                then: { [unowned self] reply in receiveEnd(reply, fetch) })
        }
    }

    private func receive(_ bytes: [UInt8], _ fetch: BlobFetch) {
        session.standing.attachmentBytesReceived += UInt64(bytes.count)
        guard !fetch.isGivenUp else { return session.consume(bytes.count, ofResponseTo: fetch.tag) }
        fetch.receivedBytes += UInt64(bytes.count)
        // Mostly nothing waits, and the bytes need not be copied.
        if fetch.pending.isEmpty { fetch.pending = bytes } else { fetch.pending.append(contentsOf: bytes) }
        guard fetch.receivedBytes <= fetch.key.length else {
            return fail(fetch, Self.wrongLength(fetch.key, fetch.receivedBytes), isWrong: true)
        }
        append(fetch)
    }

    private func append(_ fetch: BlobFetch) {
        guard !fetch.isAppending, let blob = fetch.blob else { return }
        guard !fetch.pending.isEmpty else { return complete(fetch, blob) }
        let bytes = fetch.pending
        fetch.pending = []
        fetch.isAppending = true
        replicator.perform(.appendBlob(blob, bytes)) { [unowned self] result in
            fetch.isAppending = false
            session.consume(bytes.count, ofResponseTo: fetch.tag)
            guard case .written = result else {
                storeRefused(fetch, result)
                if fetch.isEnded { close(fetch) }
                return
            }
            append(fetch)
        }
    }

    private func receiveEnd(_ reply: BLIPMessage, _ fetch: BlobFetch) {
        fetch.isEnded = true
        if let error = reply.error, !fetch.isGivenUp {
            if error.domain == "HTTP", error.code == 503 {
                // Nothing is wrong with the documents, so none may be passed over.
                return session.end(
                    closeCode: 4001, "the peer cannot send attachments now: \(error.message.prefix(200))")
            }
            if error.domain == "HTTP", error.code == 410 {
                give(up: fetch)
                settle(fetch) { gone($0) }
            } else {
                fail(fetch, Self.peerError(fetch.key, error), isWrong: false)
            }
        }
        if fetch.isGivenUp { close(fetch) } else { append(fetch) }
    }

    /// All bytes that came are with the store: if no more come, the blob is whole or is not.
    private func complete(_ fetch: BlobFetch, _ blob: IncomingBlob) {
        guard fetch.isEnded else { return }
        guard fetch.receivedBytes == fetch.key.length else { return endedEarly(fetch) }
        fetch.isAppending = true
        replicator.perform(.finishBlob(blob)) { [unowned self] result in
            fetch.isAppending = false
            guard case .written = result else {
                storeRefused(fetch, result)
                return close(fetch)
            }
            fetch.blob = nil
            forgetAttempts(fetch.key)
            if isChecking { storedMeanwhile.insert(fetch.key) }
            let numbers = wanted.removeValue(forKey: fetch.key) ?? []
            close(fetch)
            for number in numbers.sorted() { advance(number) }
        }
    }

    /// A sender that cannot go on ends early, since BLIP has no way to say so: most likely the document was edited, which the
    /// answer to another request tells.
    private func endedEarly(_ fetch: BlobFetch) {
        giveUpForNow(fetch, Self.wrongLength(fetch.key, fetch.receivedBytes))
        close(fetch)
    }

    /// Has it fetched once more, unless that has happened too often.
    private func giveUpForNow(_ fetch: BlobFetch, _ error: KithError) {
        let count = (earlyEnds[fetch.key] ?? 0) + 1
        guard count < limits.blobAttemptsMax else { return fail(fetch, error, isWrong: false) }
        earlyEnds[fetch.key] = count
        give(up: fetch)
    }

    // MARK: Ends

    /// What is wrong with the bytes is their documents' affair; what is wrong with the disk ends the link.
    private func storeRefused(_ fetch: BlobFetch, _ result: StoreResult) {
        guard case .failed(let error) = result else { return session.storeFailed(result) }
        switch error.code {
        case .badDocument, .tooLarge: fail(fetch, error, isWrong: true)
        // The beginning went: another process has taken it up, it made room for others, or the clock was set.
        case .notFound:
            // One from the start is taken up by nobody of this process; if it goes as well, the next link tries again.
            guard fromStart.insert(fetch.key).inserted else { return session.storeFailed(result) }
            give(up: fetch)
        default: session.storeFailed(result)
        }
    }

    /// The blob cannot be had: all revisions that wait for it are refused, with the reason.
    ///
    /// - Parameter isWrong: whether bytes that came are wrong; otherwise somebody else can go on with them.
    private func fail(_ fetch: BlobFetch, _ error: KithError, isWrong: Bool) {
        if isWrong { fetch.blob?.spoil(andOthers: fetch.offset > 0) }
        give(up: fetch)
        guard fetch.offset == 0 else {
            // What another link had brought may be what is wrong: then this one begins anew, once.
            fromStart.insert(fetch.key)
            earlyEnds[fetch.key] = nil
            return
        }
        settle(fetch) { refuse($0, error) }
    }

    private func give(up fetch: BlobFetch) {
        fetch.isGivenUp = true
        fetch.blob = nil
        session.consume(fetch.pending.count, ofResponseTo: fetch.tag)
        fetch.pending = []
    }

    private func settle(_ fetch: BlobFetch, _ then: (ReceivedRevision) -> Void) {
        forgetAttempts(fetch.key)
        for number in (wanted.removeValue(forKey: fetch.key) ?? []).sorted() { finish(number, then) }
    }

    /// The answer has come to its end, so there is room for another.
    private func close(_ fetch: BlobFetch) {
        windows.openFetches -= 1
        if wanted[fetch.key] != nil {
            // It ended early, or began in the middle and failed; or somebody has come since who wants it.
            queue.append(fetch.key)
        } else {
            fetching.remove(fetch.key)
            forgetAttempts(fetch.key)
        }
    }

    private func forgetAttempts(_ key: BlobKey) {
        earlyEnds[key] = nil
        fromStart.remove(key)
    }

    private static func wrongLength(_ key: BlobKey, _ length: UInt64) -> KithError {
        KithError(
            .badDocument,
            "The attachment \(key.digest) is said to have \(key.length) bytes and has \(length)\(length > key.length ? " or more" : "")"
        )
    }

    private static func peerError(_ key: BlobKey, _ error: BLIPMessage.ErrorInfo) -> KithError {
        KithError(
            .notFound,
            "The attachment \(key.digest) cannot be fetched: \(error.domain) \(error.code) \(error.message.prefix(200))"
        )
    }
}
