import KithDocuments
import KithStore
import KithWire

/// One link's replication of one database with one peer, as a machine without I/O.
///
/// Its shell feeds it WebSocket messages, answers of the store, changes of the database and the time; and takes from it
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
        /// What to do.
        public let request: StoreRequest
    }

    /// The property of `changes` in which a Kith node says how many documents remain behind the list. Others ignore it.
    static let remainingProperty = "kith-remaining"

    /// What this link replicates.
    public let configuration: ReplicationConfiguration
    /// How the link stands. Up to date after each input.
    public internal(set) var status = ReplicationStatus()
    /// Why the link must be closed, once it must. Nothing is done after it.
    public private(set) var ended: ReplicationEnd?
    /// The time of the input being handled.
    private(set) var now = ReplicationInstant(monotonicSeconds: 0, wallSeconds: 0)

    private let blip: BLIPConnection
    private var requests: [PendingRequest] = []
    private var nextToken: UInt64 = 1
    private var storeHandlers: [UInt64: (StoreResult) -> Void] = [:]
    private var replyHandlers: [UInt64: (BLIPMessage) -> Void] = [:]
    private var partHandlers: [UInt64: ([UInt8]) -> Void] = [:]
    private(set) lazy var blobSender = BlobSender(session: self)
    var pusher: Pusher?
    private(set) var puller: Puller?
    private var checkpointer: Checkpointer?
    private(set) var lastSequence: UInt64 = 0
    private var refusals: [ReplicationRefusal] = []
    /// Refusals since the shell last took them.
    private var newRefusals: [ReplicationRefusal] = []

    /// Makes the session of a link that was just opened.
    public init(_ configuration: ReplicationConfiguration) {
        self.configuration = configuration
        self.blip = BLIPConnection()
    }

    // MARK: Inputs

    /// Begins; called once, before any other input.
    ///
    /// - Parameter lastSequence: the database's last sequence.
    public func start(lastSequence: UInt64, now: ReplicationInstant) {
        self.now = now
        self.lastSequence = lastSequence
        if configuration.role == .active {
            checkpointer = Checkpointer(session: self)
            checkpointer?.load { [unowned self] checkpoint in
                startPulling(checkpoint)
                pusher = Pusher(
                    session: self,
                    Subscription(since: checkpoint.local, batchMax: configuration.limits.changesPerListMax),
                    lastSequence: self.lastSequence)
                pusher?.work()
            }
        } else {
            puller = Puller(session: self, completed: nil)
        }
        updateStatus()
    }

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

    /// Says that the database has changed, up to this sequence.
    public func databaseChanged(lastSequence: UInt64, now: ReplicationInstant) {
        guard ended == nil else { return }
        self.now = now
        self.lastSequence = max(lastSequence, self.lastSequence)
        pusher?.databaseChanged(lastSequence: lastSequence)
        updateStatus()
    }

    /// Says that time has passed; due when `nextDeadlineSeconds` is reached.
    public func tick(now: ReplicationInstant) {
        guard ended == nil else { return }
        self.now = now
        checkpointer?.saveIfDue(isIdle: isIdle)
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
    public var nextDeadlineSeconds: Double? { ended == nil ? checkpointer?.deadlineSeconds : nil }

    /// Whether the shell should stop reading from the peer until a later answer of the store.
    public var isCongested: Bool { puller?.isCongested ?? false }

    /// Bytes of blobs that are held here in both directions, at most `ReplicationLimits.blobBytesHeldMax`.
    public var blobBytesHeld: Int { blip.queuedPullBytes + blip.unconsumedBytes }

    /// Documents refused since the last call, by either side.
    public func takeRefusals() -> [ReplicationRefusal] {
        defer { newRefusals.removeAll() }
        return newRefusals
    }

    // MARK: For the parts

    func perform(_ request: StoreRequest, then handler: @escaping (StoreResult) -> Void) {
        let token = makeTag()
        storeHandlers[token] = handler
        requests.append(PendingRequest(token: token, request: request))
    }

    /// Takes the peer's word on leaves here that are superseded, and goes on when that is durable.
    func supersede(_ supersessions: [Supersession], then handler: @escaping () -> Void) {
        guard !supersessions.isEmpty else { return handler() }
        perform(.supersede(supersessions)) { [unowned self] result in
            guard case .superseded = result else { return storeFailed(result) }
            handler()
        }
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

    func refused(_ name: RevisionName, by side: ReplicationRefusal.Side, code: Int, reason: String) {
        refused(id: name.id.text, revision: name.revision.description, by: side, code: code, reason: reason)
    }

    func refused(id: String, revision: String, by side: ReplicationRefusal.Side, code: Int, reason: String) {
        let refusal = ReplicationRefusal(
            id: Self.cut(id, to: 240), revision: Self.cut(revision, to: 100), side: side, code: code,
            reason: Self.cut(reason, to: 500), wallSeconds: now.wallSeconds)
        status.refusals += 1
        if newRefusals.count < configuration.limits.refusalsMax { newRefusals.append(refusal) }
    }

    /// A text from outside, cut to a number of bytes.
    private static func cut(_ text: String, to bytes: Int) -> String {
        text.utf8.count <= bytes ? text : String(decoding: text.utf8.prefix(bytes), as: UTF8.self)
    }

    /// Whether each side has everything of the other that it asks for, as far as this side knows.
    var isIdle: Bool {
        guard let puller, puller.isIdle else { return false }
        // A client that only pushes never subscribes, but says when it has nothing more.
        return pusher?.isIdle ?? (isServingClient && puller.isCaughtUp)
    }

    /// Whether the peer is a client that is no Kith node: it does not always say what it has, or ask for what is here.
    var isServingClient: Bool { configuration.role == .passive && !configuration.peerIsKith }

    // MARK: Requests of the peer

    private func handle(_ message: BLIPMessage) {
        if message.droppedBodyBytes > 0 {
            let error = KithError(.tooLarge, "the message has \(message.droppedBodyBytes) bytes, more than are taken")
            if message.properties["Profile"] == "rev" {
                puller?.refuseRevision(message, error)
            } else {
                replyError(error, to: message)
            }
            return
        }
        switch message.properties["Profile"] {
        case "changes", "proposeChanges", "rev":
            guard let puller else { return replyError(domain: "HTTP", code: 503, "not ready", to: message) }
            switch message.properties["Profile"] {
            case "changes": puller.receiveChanges(message)
            case "proposeChanges": puller.receiveProposals(message)
            default: puller.receiveRevision(message)
            }
        case "norev": puller?.receiveNoRevision(message)
        case "getAttachment", "proveAttachment": blobSender.receive(message)
        case "getCheckpoint": getCheckpoint(message)
        case "setCheckpoint": setCheckpoint(message)
        case "subChanges": subscribe(message)
        default: replyError(domain: "BLIP", code: 404, "no handler for message", to: message)
        }
    }

    private func startPulling(_ checkpoint: Checkpointer.Position) {
        puller = Puller(session: self, completed: checkpoint.remote)
        var properties: BLIPProperties = [
            "Profile": "subChanges", "continuous": "true", "batch": String(configuration.limits.changesPerListMax),
            "versioning": "rev-trees",
        ]
        if let since = checkpoint.remote { properties.append("since", String(decoding: since, as: UTF8.self)) }
        send(
            BLIPOutgoing(properties: properties, body: [], isUrgent: false, isNoReply: false, isCompressed: false)
        ) { [unowned self] reply in
            if let error = reply.error {
                end(
                    closeCode: error.code == 503 ? 4001 : 4002,
                    "the peer does not send its changes: \(error.domain) \(error.code) \(error.message.prefix(200))")
            }
        }
    }

    // MARK: Status

    private func updateStatus() {
        if blip.queuedBytes > configuration.limits.outgoingBytesMax {
            end(closeCode: 1008, "the peer sends and does not read")
        }
        status.sentThrough = pusher?.sentThrough ?? status.sentThrough
        status.toSend = pusher?.pending
        status.toReceive = puller?.pending
        let wasBusy = status.state != .idle
        let isIdle = self.isIdle
        status.state = isIdle ? .idle : pusher == nil && checkpointer?.isLoaded == false ? .connecting : .busy
        let open = (status.toSend ?? 0) + (status.toReceive ?? 0)
        if isIdle {
            if wasBusy { status.completed = status.total }
        } else {
            if !wasBusy { (status.completed, status.total) = (0, 0) }
            status.total = max(status.total, open)
            status.completed = status.total - open
        }
        checkpointer?.note(isIdle: isIdle)
    }
}
