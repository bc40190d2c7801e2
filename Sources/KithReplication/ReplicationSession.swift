import KithDocuments
import KithStore
import KithWire

/// One link's replication of one database with one peer, as a machine without I/O.
///
/// It speaks BLIP, and has a `CollectionReplicator` for each collection that the two ends have agreed on. Its shell feeds it WebSocket messages, answers of the store, changes of the database and the time; and takes from it
/// frames to send, requests to the store, and the wish to end. Both roles and both directions are in it: an active session keeps the
/// checkpoint, pulls by `subChanges` and pushes by `changes`; a passive one answers.
///
/// ```swift
/// session.start(lastSequence: 12, now: now)
/// session.receive(frame: bytes, now: now)
/// while socket.hasRoom, session.appendNextFrame(to: &out) { … }
/// for request in session.takeStoreRequests() { … session.complete(request.token, result, now: now) }
/// ```
///
/// It is not Sendable: whoever owns it calls it from one isolation.
public final class ReplicationSession {
    /// A request to the store, with the token that its answer must carry.
    public struct PendingRequest: Sendable {
        /// Handed back to `complete`.
        public let token: UInt64
        /// The collection that it is about.
        public let collection: CollectionName
        /// What to do.
        public let request: StoreRequest
    }

    /// The property of `changes` in which a Kith node says how many documents remain behind the list. Others ignore it.
    static let remainingProperty = "kith-remaining"
    /// The property of a message that names a collection by its place in the list of `getCollections`.
    static let collectionProperty = "collection"

    /// How messages say which collection they are about; decided by the first message of the active side.
    enum Mode {
        case undecided
        /// They do not: all are about the default collection.
        case legacy
        /// By its place in the list of `getCollections`.
        case collections
    }

    /// What this link replicates.
    public let configuration: ReplicationConfiguration
    /// How the link stands. Up to date after each input.
    public internal(set) var status = ReplicationStatus()
    /// Why the link must be closed, once it must. Nothing is done after it.
    public private(set) var ended: ReplicationEnd?
    /// The time of the input being handled.
    private(set) var now = ReplicationInstant(monotonicSeconds: 0, wallSeconds: 0)

    let blip: BLIPConnection
    private var requests: [PendingRequest] = []
    private var nextToken: UInt64 = 1
    private var storeHandlers: [UInt64: (StoreResult) -> Void] = [:]
    private var replyHandlers: [UInt64: (BLIPMessage) -> Void] = [:]
    private var partHandlers: [UInt64: ([UInt8]) -> Void] = [:]
    private(set) lazy var blobSender = BlobSender(session: self)
    let windows = SharedWindows()

    var mode = Mode.undecided
    /// Those that are replicated, in the order of their places.
    private(set) var replicators: [CollectionReplicator] = []
    /// What the places of `getCollections` stand for; `nil`: nothing is replicated there.
    private(set) var places: [CollectionReplicator?] = []
    /// Which of them has its turn first.
    var firstTurn = 0
    private var replicatorsByName: [CollectionName: CollectionReplicator] = [:]
    /// The last sequences that the shell has told of.
    private var lastSequences: [CollectionName: UInt64] = [:]
    /// Collections that wait to be opened by an active session, and whether some are being opened (on either side).
    var unopened: [CollectionName] = []
    var isOpening = false
    /// Collections that were named to the peer or by it, or are about to be; without those that turned out to be gone.
    var named: Set<CollectionName> = []
    /// Those that the passive side named and the active one has not begun to open. Nothing is in sync while there are some.
    var announced: Set<CollectionName> = []
    /// Whether the passive side is about to name more (`kith-collections`).
    var awaitsNames = false
    /// Those that the peer said are not there: they are opened when it names them.
    var notAtPeer: Set<CollectionName> = []
    private var refusedDocuments = RefusedDocuments()
    /// Documents that the peer refused before, and that wait for their collection to be replicated.
    private var toRetry: [CollectionName: [DocumentID]] = [:]

    /// Makes the session of a link that was just opened.
    public init(_ configuration: ReplicationConfiguration) {
        self.configuration = configuration
        self.blip = BLIPConnection()
        status.directions = configuration.directions
    }

    // MARK: Inputs

    /// Begins; called once, before any other input.
    ///
    /// - Parameter lastSequence: the last sequence of the collection `_default`.
    public func start(lastSequence: UInt64, now: ReplicationInstant) {
        self.now = now
        lastSequences[.default] = lastSequence
        if configuration.role == .active {
            // Others would have to know which collections are meant.
            if configuration.peerIsKith { openFirstCollections() } else { beginLegacy() }
        }
        updateStatus()
    }

    /// Replicates the default collection alone, as everybody can who speaks the protocol.
    func beginLegacy() {
        mode = .legacy
        let replicator = CollectionReplicator(
            session: self, collection: .default, index: nil, lastSequence: lastSequences[.default] ?? 0)
        add(replicator)
        if configuration.role == .active { replicator.fetchCheckpoint() } else { replicator.servePeer() }
    }

    /// Takes the next place of `getCollections` for a collection, or leaves it empty.
    @discardableResult
    func addPlace(_ opened: OpenedCollection?) -> CollectionReplicator? {
        let replicator = opened.map { opened in
            CollectionReplicator(
                session: self, collection: opened.name, index: places.count,
                lastSequence: max(opened.lastSequence, lastSequences[opened.name] ?? 0))
        }
        places.append(replicator)
        if let replicator { add(replicator) }
        return replicator
    }

    private func add(_ replicator: CollectionReplicator) {
        replicators.append(replicator)
        replicatorsByName[replicator.collection] = replicator
        replicator.toRetry = toRetry.removeValue(forKey: replicator.collection) ?? []
    }

    /// Whether a collection is replicated.
    func isReplicated(_ name: CollectionName) -> Bool { replicatorsByName[name] != nil }

    /// Takes one WebSocket binary message, which is one BLIP frame.
    public func receive(frame: UnsafeRawBufferPointer, now: ReplicationInstant) {
        guard ended == nil else { return }
        self.now = now
        let events: [BLIPEvent]
        do {
            events = try blip.receive(frame)
        } catch {
            return end(closeCode: error.webSocketCloseCode, "the peer broke the message protocol: \(error)")
        }
        for event in events where ended == nil {
            switch event {
            case .request(let message): handle(message)
            case .response(let tag, let message):
                partHandlers[tag] = nil
                replyHandlers.removeValue(forKey: tag)?(message)
            case .responsePart(let tag, let bytes): partHandlers[tag]?(bytes)
            }
        }
        updateStatus()
    }

    /// Takes the store's answer to a request.
    public func complete(_ token: UInt64, _ result: StoreResult, now: ReplicationInstant) {
        guard ended == nil, let handler = storeHandlers.removeValue(forKey: token) else { return }
        self.now = now
        handler(result)
        updateStatus()
    }

    /// Says that the collection `_default` has changed, up to this sequence.
    public func databaseChanged(lastSequence: UInt64, now: ReplicationInstant) {
        databaseChanged([.default: lastSequence], now: now)
    }

    /// Says that collections have changed, each up to this sequence.
    public func databaseChanged(_ changed: [CollectionName: UInt64], now: ReplicationInstant) {
        guard ended == nil else { return }
        self.now = now
        var others: [CollectionName] = []
        for (name, sequence) in changed {
            lastSequences[name] = max(sequence, lastSequences[name] ?? 0)
            if let replicator = replicatorsByName[name] {
                replicator.databaseChanged(lastSequence: sequence)
            } else {
                others.append(name)
            }
        }
        if !others.isEmpty { haveCollections(others.sorted()) }
        updateStatus()
    }

    /// Says which documents were refused on earlier links.
    ///
    /// - Parameters:
    ///   - documents: are looked out for (`takeAcceptances`).
    ///   - retrying: are looked out for too, and offered to the peer once more, when it has been offered all else: what was in
    ///     the way may be so no longer.
    public func noteRefused(
        _ documents: [CollectionName: [DocumentID]], retrying: [CollectionName: [DocumentID]], now: ReplicationInstant
    ) {
        guard ended == nil else { return }
        self.now = now
        for (name, ids) in documents { refusedDocuments.watch(ids, in: name, limits: configuration.limits) }
        for (name, ids) in retrying {
            refusedDocuments.watch(ids, in: name, limits: configuration.limits)
            toRetry[name, default: []] += ids
            guard let replicator = replicatorsByName[name] else { continue }
            replicator.toRetry += toRetry.removeValue(forKey: name) ?? []
            replicator.goOn()
        }
        updateStatus()
    }

    /// Says that time has passed; due when `nextDeadlineSeconds` is reached.
    public func tick(now: ReplicationInstant) {
        guard ended == nil else { return }
        self.now = now
        for replicator in replicators { replicator.checkpointer?.saveIfDue(isIdle: isIdle) }
        updateStatus()
    }

    // MARK: Outputs

    /// The requests made since the last call. Taking a frame can make some: a blob is read as the link has room for it.
    public func takeStoreRequests() -> [PendingRequest] {
        defer { requests.removeAll(keepingCapacity: true) }
        return requests
    }

    /// Appends the next frame to send, if there is one and flow control allows.
    ///
    /// - Returns: whether a frame was appended. Each is one WebSocket binary message.
    public func appendNextFrame(to output: inout [UInt8]) -> Bool {
        guard blip.appendNextFrame(to: &output) else { return false }
        // There is room for more of the blobs under way.
        if ended == nil { blobSender.work() }
        return true
    }

    /// When `tick` is wanted, in monotonic seconds; `nil` when nothing waits for time.
    public var nextDeadlineSeconds: Double? {
        ended == nil ? replicators.compactMap { $0.checkpointer?.deadlineSeconds }.min() : nil
    }

    /// Whether the shell should stop reading from the peer until a later answer of the store.
    public var isCongested: Bool { windows.receivedBytes > configuration.limits.receivedBytesMax }

    /// Bytes of blobs that are held here in both directions, at most `ReplicationLimits.blobBytesHeldMax`.
    public var blobBytesHeld: Int { blip.queuedPullBytes + blip.unconsumedBytes }

    /// Documents refused since the last call, by either side.
    public func takeRefusals() -> [ReplicationRefusal] { refusedDocuments.takeNew() }

    /// Revisions that got to the receiver since the last call, of documents that were refused before: on this link, or as
    /// `noteRefused` says.
    public func takeAcceptances() -> [ReplicationAcceptance] { refusedDocuments.takeTaken() }

    // MARK: For the parts

    func perform(
        _ request: StoreRequest, in collection: CollectionName = .default,
        then handler: @escaping (StoreResult) -> Void
    ) {
        let token = makeTag()
        storeHandlers[token] = handler
        requests.append(PendingRequest(token: token, collection: collection, request: request))
    }

    func send(_ request: BLIPOutgoing, then handler: ((BLIPMessage) -> Void)? = nil) {
        let tag = makeTag()
        if let handler { replyHandlers[tag] = handler }
        blip.send(request, tag: tag)
    }

    /// Sends a request whose response is handed out as it comes; whoever gets bytes says with `consume` when it is done.
    ///
    /// - Returns: the tag to consume by.
    func send(
        _ request: BLIPOutgoing, part: @escaping ([UInt8]) -> Void, then handler: @escaping (BLIPMessage) -> Void
    ) -> UInt64 {
        let tag = makeTag()
        partHandlers[tag] = part
        replyHandlers[tag] = handler
        blip.send(request, tag: tag, streamsResponse: true)
        return tag
    }

    func makeTag() -> UInt64 {
        defer { nextToken += 1 }
        return nextToken
    }

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

    func reply(to message: BLIPMessage, _ reply: BLIPOutgoing? = nil) {
        guard !message.isNoReply else { return }
        _ = blip.reply(reply ?? BLIPOutgoing(), to: message.number)
    }

    func replyError(_ error: KithError, to message: BLIPMessage) {
        replyError(domain: "HTTP", code: error.code.httpStatus, error.message, to: message)
    }

    func replyError(domain: String, code: Int, _ text: String, to message: BLIPMessage) {
        guard !message.isNoReply else { return }
        _ = blip.replyError(domain: domain, code: code, message: text, to: message.number)
    }

    func end(closeCode: UInt16, _ reason: String, code: ErrorCode = .connectionLost) {
        if ended == nil { ended = ReplicationEnd(closeCode: closeCode, reason: reason, code: code) }
    }

    func violation(_ error: KithError) { end(closeCode: 1002, error.message, code: error.code) }

    /// The store failed at something that cannot be laid to one document: the link ends and comes again later.
    func storeFailed(_ result: StoreResult) {
        guard case .failed(let error) = result else {
            return end(closeCode: 1011, "the store answered something else than was asked")
        }
        end(
            closeCode: error.code.isRetryable ? 4001 : 1011, "the store failed: \(error.message)", code: error.code)
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

    func note(_ refusal: ReplicationRefusal) {
        status.refusals += 1
        refusedDocuments.note(refusal, limits: configuration.limits)
    }

    func noteTaken(_ acceptance: ReplicationAcceptance) { refusedDocuments.note(acceptance) }
}
