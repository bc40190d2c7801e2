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
    /// How the link stands.
    public var status: ReplicationStatus {
        settle()
        return standing
    }
    /// The status as of the last `settle`, with what is counted as it happens.
    var standing = ReplicationStatus()
    /// Why the link must be closed, once it must. Nothing is done after it.
    public private(set) var ended: ReplicationEnd?
    /// Whether somebody wants to hear of each revision that gets to its receiver (`takeArrivals`).
    public var tellsArrivals = false {
        didSet { if !tellsArrivals { arrivals = [] } }
    }
    private var arrivals: [ReplicationArrival] = []
    /// The time of the input being handled.
    private(set) var now = ReplicationInstant(monotonicSeconds: 0, wallSeconds: 0)

    let blip: BLIPConnection
    private var requests: [PendingRequest] = []
    private var nextToken: UInt64 = 1
    /// Who waits for an answer of the store, with the collection that it is about.
    private var storeHandlers: [UInt64: (replicator: CollectionReplicator?, handle: (StoreResult) -> Void)] = [:]
    var replyHandlers: [UInt64: AwaitedReply] = [:]
    /// When it is looked next which requests are not answered; what has happened until the last look, and until now.
    var nextLookSeconds: Double?
    var activityAtLook = Activity()
    var activity = Activity()
    /// How often all that was queued had gone out.
    private(set) var outputEmptied: UInt64 = 0
    /// Requests whose answer nobody waits for any more.
    var givenUpCount = 0
    private var partHandlers: [UInt64: ([UInt8]) -> Void] = [:]
    private(set) lazy var blobSender = BlobSender(session: self)
    let windows = SharedWindows()

    var mode = Mode.undecided
    /// Those that are replicated, in the order of their places.
    private(set) var replicators: [CollectionReplicator] = []
    /// What the places of `getCollections` stand for; `nil`: nothing is replicated there.
    private(set) var places: [CollectionReplicator?] = []
    /// Whether something has happened since `settle`, and in which collections.
    var isUnsettled = false
    var touched: [CollectionReplicator] = []
    /// Collections with something to do for which there was no room; each in its turn is the first.
    var waiting: [CollectionReplicator] = []
    /// Turns that collections have had: what the work for a frame is measured by.
    var turnsTaken = 0
    var totals = CollectionTotals()
    /// Collections whose checkpoint is to be saved, in the order in which that became so; some are saved meanwhile.
    var unsaved: [CollectionReplicator] = []
    var unsavedHead = 0
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
    /// Whether names came since the last `getCollections` was sent.
    var namesCame = false
    /// Those that the peer said are not there: they are opened when it names them.
    var notAtPeer: Set<CollectionName> = []
    private var refusedDocuments = RefusedDocuments()
    /// What came into collections of which nothing was sent: nobody else says that it need not be sent.
    public internal(set) var received: [CollectionName: ReceivedChanges] = [:]
    /// Documents that the peer refused before, and that wait for their collection to be replicated.
    private var toRetry: [CollectionName: [DocumentID]] = [:]

    /// Makes the session of a link that was just opened.
    public init(_ configuration: ReplicationConfiguration) {
        self.configuration = configuration
        self.blip = BLIPConnection()
        standing.directions = configuration.directions
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
        isUnsettled = true
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
        totals.add(replicator.counted, 1)
        touch(replicator)
    }

    /// Whether a collection is replicated.
    func isReplicated(_ name: CollectionName) -> Bool { replicatorsByName[name] != nil }

    /// Takes one WebSocket binary message, which is one BLIP frame.
    public func receive(frame: UnsafeRawBufferPointer, now: ReplicationInstant) {
        guard ended == nil else { return }
        self.now = now
        isUnsettled = true
        do {
            try blip.receive(frame) { event in
                guard ended == nil else { return }
                switch event {
                case .request(let message): handle(message)
                case .response(let tag, let message):
                    if !partHandlers.isEmpty { partHandlers[tag] = nil }
                    activity.answers += 1
                    guard let waiter = replyHandlers.removeValue(forKey: tag) else { return }
                    if let replicator = waiter.replicator { touch(replicator) }
                    waiter.handle(message)
                case .responsePart(let tag, let bytes):
                    activity.answers += 1
                    partHandlers[tag]?(bytes)
                }
            }
        } catch {
            end(closeCode: error.webSocketCloseCode, "the peer broke the message protocol: \(error)")
        }
        if blip.queuedBytes > configuration.limits.outgoingBytesMax {
            end(closeCode: 1008, "the peer sends and does not read")
        }
    }

    /// Takes the store's answer to a request.
    public func complete(_ token: UInt64, _ result: StoreResult, now: ReplicationInstant) {
        guard ended == nil, let waiter = storeHandlers.removeValue(forKey: token) else { return }
        self.now = now
        isUnsettled = true
        if let replicator = waiter.replicator { touch(replicator) }
        waiter.handle(result)
    }

    /// Says that the collection `_default` has changed, up to this sequence.
    public func databaseChanged(lastSequence: UInt64, now: ReplicationInstant) {
        databaseChanged([.default: lastSequence], now: now)
    }

    /// Says that collections have changed, each up to this sequence.
    public func databaseChanged(_ changed: [CollectionName: UInt64], now: ReplicationInstant) {
        guard ended == nil else { return }
        self.now = now
        isUnsettled = true
        var others: [CollectionName] = []
        for (name, sequence) in changed {
            let known = lastSequences[name] ?? 0
            lastSequences[name] = max(sequence, known)
            if let replicator = replicatorsByName[name] {
                guard sequence > known else { continue }
                touch(replicator)
                replicator.databaseChanged(lastSequence: sequence)
            } else {
                others.append(name)
            }
        }
        if !others.isEmpty { haveCollections(others.sorted()) }
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
            touch(replicator)
            replicator.toRetry += toRetry.removeValue(forKey: name) ?? []
        }
    }

    /// Says that time has passed; due when `nextDeadlineSeconds` is reached.
    public func tick(now: ReplicationInstant) {
        guard ended == nil else { return }
        self.now = now
        isUnsettled = true
        lookForAnswers()
        if ended == nil { saveCheckpoints() }
    }

    // MARK: Outputs

    /// The requests made since the last call. Taking a frame can make some: a blob is read as the link has room for it.
    public func takeStoreRequests() -> [PendingRequest] {
        settle()
        defer { requests.removeAll(keepingCapacity: true) }
        return requests
    }

    /// Appends the next frame to send, if there is one and flow control allows.
    ///
    /// - Returns: whether a frame was appended. Each is one WebSocket binary message.
    public func appendNextFrame(to output: inout [UInt8]) -> Bool {
        settle()
        guard blip.appendNextFrame(to: &output) else {
            if blip.queuedBytes == 0 { outputEmptied += 1 }
            return false
        }
        activity.frames += 1
        // There is room for more of the blobs under way.
        if ended == nil { blobSender.work() }
        return true
    }

    /// When `tick` is wanted, in monotonic seconds; `nil` when nothing waits for time.
    public var nextDeadlineSeconds: Double? {
        settle()
        guard ended == nil else { return nil }
        guard let checkpoint = checkpointDeadlineSeconds, let look = nextLookSeconds else {
            return checkpointDeadlineSeconds ?? nextLookSeconds
        }
        return min(checkpoint, look)
    }

    /// Whether the shell should stop reading from the peer until a later answer of the store.
    public var isCongested: Bool { windows.receivedBytes > configuration.limits.receivedBytesMax }

    /// Bytes of blobs that are held here in both directions, at most `ReplicationLimits.blobBytesHeldMax`.
    public var blobBytesHeld: Int { blip.queuedPullBytes + blip.unconsumedBytes }

    /// Bytes of documents, lists and blobs that are held here in both directions, at most
    /// `ReplicationLimits.bytesHeldMax(largestRevisionBytes:)` as long as the peer keeps the protocol.
    public var bytesHeld: Int {
        blip.queuedBytes + blip.openBytes + windows.listBytes + windows.receivedBytes + windows.heldBytes
    }

    /// Bytes of messages that wait to be sent, without those of blobs; bounded by the windows of an honest peer.
    package var messageBytesQueued: Int { blip.queuedBytes - blip.queuedPullBytes }

    /// Documents refused since the last call, by either side.
    public func takeRefusals() -> [ReplicationRefusal] {
        settle()
        return refusedDocuments.takeNew()
    }

    /// Revisions that got to the receiver since the last call, of documents that were refused before: on this link, or as
    /// `noteRefused` says.
    public func takeAcceptances() -> [ReplicationAcceptance] { refusedDocuments.takeTaken() }

    /// Revisions that got to their receiver since the last call, when `tellsArrivals`. The windows bound them, if the shell takes them
    /// after each input.
    public func takeArrivals() -> [ReplicationArrival] {
        guard !arrivals.isEmpty else { return [] }
        defer { arrivals.removeAll(keepingCapacity: true) }
        return arrivals
    }

    // MARK: For the parts

    /// A revision got to its receiver.
    func noteArrival(_ name: RevisionName, in collection: CollectionName, isOutgoing: Bool) {
        if tellsArrivals {
            arrivals.append(ReplicationArrival(collection: collection, name: name, isOutgoing: isOutgoing))
        }
    }

    func perform(
        _ request: StoreRequest, for replicator: CollectionReplicator? = nil,
        then handler: @escaping (StoreResult) -> Void
    ) {
        let token = makeTag()
        storeHandlers[token] = (replicator, handler)
        requests.append(
            PendingRequest(token: token, collection: replicator?.collection ?? .default, request: request))
    }

    func send(
        _ request: BLIPOutgoing, for replicator: CollectionReplicator? = nil,
        ifUnanswered patience: AwaitedReply.Patience? = nil, then handler: ((BLIPMessage) -> Void)? = nil
    ) {
        let tag = makeTag()
        if let handler { expectReply(tag, replicator, patience, handler) }
        blip.send(request, tag: tag)
    }

    private func expectReply(
        _ tag: UInt64, _ replicator: CollectionReplicator?, _ patience: AwaitedReply.Patience? = nil,
        _ handler: @escaping (BLIPMessage) -> Void
    ) {
        replyHandlers[tag] = AwaitedReply(
            replicator: replicator, handle: handler, patience: patience, emptied: outputEmptied)
        if nextLookSeconds == nil {
            nextLookSeconds = now.monotonicSeconds + configuration.limits.answerLookSeconds
        }
    }

    /// Sends a request whose response is handed out as it comes; whoever gets bytes says with `consume` when it is done.
    ///
    /// - Returns: the tag to consume by.
    func send(
        _ request: BLIPOutgoing, for replicator: CollectionReplicator, part: @escaping ([UInt8]) -> Void,
        then handler: @escaping (BLIPMessage) -> Void
    ) -> UInt64 {
        let tag = makeTag()
        partHandlers[tag] = { [unowned self] bytes in
            touch(replicator)
            part(bytes)
        }
        expectReply(tag, replicator, nil, handler)
        blip.send(request, tag: tag, streamsResponse: true)
        return tag
    }

    func makeTag() -> UInt64 {
        defer { nextToken += 1 }
        return nextToken
    }

    func end(closeCode: UInt16, _ reason: String, code: ErrorCode = .connectionLost) {
        if ended == nil { ended = ReplicationEnd(closeCode: closeCode, reason: reason, code: code) }
    }

    func note(_ refusal: ReplicationRefusal) {
        standing.refusals += 1
        refusedDocuments.note(refusal, limits: configuration.limits)
    }

    func noteTaken(_ acceptance: ReplicationAcceptance) { refusedDocuments.note(acceptance) }
}
