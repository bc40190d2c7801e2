import KithDocuments
import KithStore
import KithWire

/// One session of replication with a database of a CouchDB server, by its replication protocol, without I/O: requests of HTTP and
/// of the store out, their answers in, time by `now:`.
///
/// A session ends (`ended`) and never begins again: its shell makes another one, which goes on at the checkpoint. What it says
/// is saved in a checkpoint was durable before on the side that received it.
///
/// It is used by one thread at a time. The protocol is CouchDB's documented one ("CouchDB Replication Protocol", version 3).
public final class CouchDBReplicator {
    /// What this session replicates.
    public let configuration: CouchDBConfiguration
    /// How it ended, once it has. Nothing is done after it.
    public private(set) var ended: CouchDBEnd?
    /// How it stands.
    public private(set) var status = ReplicationStatus()
    /// What is counted as it happens.
    var counts = ReplicationStatus()
    /// Documents looked at and documents that were not there, for checkpoints.
    var missingChecked = 0
    var missingFound = 0
    var writeFailures = 0

    /// What was asked of the server, or told it, when the session failed: one of them may be why.
    public internal(set) var suspects: [CouchDBConfiguration.RefusedRevision] = []

    private(set) var now = ReplicationInstant(monotonicSeconds: 0, wallSeconds: 0)
    var actions: [CouchDBAction] = []
    var exchanges: [UInt64: CouchDBExchange] = [:]
    /// How it ends, once that is certain: it still waits for what the store is writing, to count it.
    private var ending: CouchDBEnd?
    private var writing: Set<UInt64> = []
    private var storeHandlers: [UInt64: (StoreResult) -> Void] = [:]
    private var nextNumber: UInt64 = 1
    private var pusher: CouchDBPusher?
    private var puller: CouchDBPuller?
    private var checkpointers: [CouchDBCheckpointer] = []
    private var hasBegun = false
    var refused: Set<CouchDBConfiguration.RefusedRevision>
    var limits: CouchDBLimits { configuration.limits }

    /// Makes a session.
    public init(_ configuration: CouchDBConfiguration) {
        self.configuration = configuration
        refused = Set(configuration.refusedBefore)
        counts.directions = configuration.directions
        status.directions = configuration.directions
    }

    // MARK: Inputs

    /// Begins; called once, before any other input.
    public func start(now: ReplicationInstant) {
        handle(now) { begin() }
    }

    /// The head of an answer has come: the last one, after any redirection or `100`.
    public func receiveHead(_ number: UInt64, status: Int, headers: HTTPHeaders, now: ReplicationInstant) {
        handle(now) {
            guard let exchange = exchanges[number] else { return }
            exchange.heardSeconds = now.monotonicSeconds
            exchange.status = status
            exchange.headers = headers
            exchange.onHead?()
        }
    }

    /// Bytes of an answer have come.
    public func receiveBody(_ number: UInt64, _ bytes: [UInt8], now: ReplicationInstant) {
        handle(now) {
            guard let exchange = exchanges[number] else { return }
            exchange.heardSeconds = now.monotonicSeconds
            if let onBytes = exchange.onBytes { return onBytes(bytes) }
            actions.append(.consumed(number: number, bytes.count))
            guard exchange.body.count + bytes.count <= exchange.bodyMax else {
                exchanges[number] = nil
                actions.append(.cancel(number: number))
                exchange.body = []
                exchange.onAnswer?(exchange.answer(isTooLong: true))
                return
            }
            exchange.body.append(contentsOf: bytes)
        }
    }

    /// An answer is whole.
    public func receiveEnd(_ number: UInt64, now: ReplicationInstant) {
        handle(now) {
            guard let exchange = exchanges.removeValue(forKey: number) else { return }
            let answer = exchange.answer()
            guard exchange.request.about.isEmpty || !answer.isFailure else {
                return failed(exchange, answer.failure(configuration.peerName))
            }
            exchange.onAnswer?(answer)
        }
    }

    /// There is room for more of a request's body.
    public func wantsBody(_ number: UInt64, now: ReplicationInstant) {
        handle(now) {
            guard let exchange = exchanges[number] else { return }
            exchange.heardSeconds = now.monotonicSeconds
            exchange.onWanted?()
        }
    }

    /// The store has answered.
    public func complete(_ token: UInt64, _ result: StoreResult, now: ReplicationInstant) {
        let wasWriting = writing.remove(token) != nil
        guard ending != nil else { return handle(now) { storeHandlers.removeValue(forKey: token)?(result) } }
        guard ended == nil, wasWriting else { return }
        if case .inserted(let outcomes) = result {
            for case .success in outcomes { counts.revisionsReceived += 1 }
        }
        if writing.isEmpty { (ended, status) = (ending, counts) }
    }

    /// The database has changed.
    public func noteChange(now: ReplicationInstant) {
        handle(now) { pusher?.noteChange() }
    }

    /// Gives it up; what has travelled stays.
    public func stop(now: ReplicationInstant) {
        handle(now) {
            end(
                .failed(
                    KithError(.closed, "the replication was given up"), mayHelp: false, retryAfterSeconds: nil))
        }
    }

    // MARK: Outputs

    /// What is to be done now, in this order.
    public func takeActions() -> [CouchDBAction] {
        defer { actions = [] }
        return actions
    }

    /// When `tick` must be called, in monotonic seconds.
    public var deadlineSeconds: Double? {
        guard ending == nil else { return nil }
        let silence = exchanges.values.map(\.silentSeconds).min()
        let saves = checkpointers.compactMap { $0.deadlineSeconds }.min()
        return [silence, saves, puller?.restsUntilSeconds].compactMap { $0 }.min()
    }

    // MARK: For its parts

    /// Makes a request and collects its answer.
    ///
    /// - Parameter silenceMax: how long nothing may be heard, in seconds, where that is longer than usual. A body that is given in
    ///   one piece has the time that it takes on a slow line, since nobody tells how far it is.
    /// - Parameter isEndless: whether the server may take as long as it likes, as long as it gives signs of life.
    @discardableResult
    func send(
        _ request: CouchDBRequest, bodyMax: Int? = nil, silenceMax: Double? = nil, isEndless: Bool = false,
        then onAnswer: @escaping (CouchDBAnswer) -> Void
    ) -> CouchDBExchange {
        var silence = silenceMax ?? limits.silenceSecondsMax
        if case .bytes(let bytes) = request.body { silence += Double(bytes.count) / limits.sentBytesPerSecondMin }
        let exchange = CouchDBExchange(
            number: nextNumber, request: request, bodyMax: bodyMax ?? limits.answerBytesMax,
            sentSeconds: now.monotonicSeconds, silenceSecondsMax: silence,
            wholeSecondsMax: isEndless ? nil : max(silence, limits.wholeSecondsMax),
            bytesPerSecondMin: limits.sentBytesPerSecondMin, onAnswer: onAnswer)
        nextNumber += 1
        exchanges[exchange.number] = exchange
        actions.append(.send(number: exchange.number, request))
        return exchange
    }

    func sendBody(_ exchange: CouchDBExchange, _ bytes: [UInt8], isLast: Bool) {
        guard exchanges[exchange.number] != nil else { return }
        actions.append(.sendBody(number: exchange.number, bytes, isLast: isLast))
    }

    func consumed(_ exchange: CouchDBExchange, _ count: Int) {
        // The disk may be what is slow.
        exchange.heardSeconds = now.monotonicSeconds
        guard count > 0, exchanges[exchange.number] != nil else { return }
        actions.append(.consumed(number: exchange.number, count))
    }

    /// Gives up a request, about which nothing is wrong with the session.
    func cancel(_ exchange: CouchDBExchange) {
        exchange.forget()
        guard exchanges.removeValue(forKey: exchange.number) != nil else { return }
        actions.append(.cancel(number: exchange.number))
    }

    func perform(_ request: StoreRequest, then handler: @escaping (StoreResult) -> Void) {
        let token = nextNumber
        nextNumber += 1
        storeHandlers[token] = handler
        if case .insert = request { writing.insert(token) }
        actions.append(.store(token: token, request))
    }

    /// Ends the session, if it has not ended.
    func end(_ end: CouchDBEnd) {
        guard ending == nil else { return }
        ending = end
        for number in exchanges.keys.sorted() { actions.append(.cancel(number: number)) }
        for exchange in exchanges.values { exchange.forget() }
        exchanges = [:]
        storeHandlers = [:]
        if writing.isEmpty { (ended, status) = (end, counts) }
    }

    /// Ends the session because of an answer.
    func end(_ answer: CouchDBAnswer) { end(answer.failure(configuration.peerName)) }

    /// Ends the session because of what an answer says.
    func end(_ error: KithError) {
        end(
            .failed(
                KithError(error.code, "\(configuration.peerName): \(error.message)", remedy: error.remedy),
                mayHelp: error.code.isRetryable || error.code == .protocolViolation, retryAfterSeconds: nil))
    }

    /// Ends the session because of what was thrown.
    func fail(_ error: any Error) {
        end(error as? KithError ?? KithError(.internal, "replication failed", cause: error))
    }

    /// The store could not do what the session needs.
    func storeFailed(_ result: StoreResult) {
        let error: KithError =
            if case .failed(let error) = result { error } else {
                KithError(.internal, "the store gave another answer than was asked for")
            }
        end(.failed(error, mayHelp: error.code.isRetryable, retryAfterSeconds: nil))
    }

    /// Notes documents that one side does not take, and goes on when that is durable, since a checkpoint may then pass over them.
    func refuse(_ refusals: [CouchDBRefusal], then done: @escaping () -> Void) {
        guard !refusals.isEmpty else { return done() }
        counts.refusals += refusals.count
        writeFailures += refusals.count
        // Nothing of them is closed yet: what finds no room is met again by the next session.
        let room = max(0, limits.refusalsNotedMax - (counts.refusals - refusals.count))
        if refusals.count > room {
            pusher?.hold()
            puller?.hold()
        }
        let noted = refusals.prefix(room).map {
            $0.record(peer: configuration.peerName, wallSeconds: now.wallSeconds)
        }
        for refusal in refusals {
            if let name = refusal.name { refused.insert(.init(name: name, isOutgoing: refusal.isOutgoing)) }
        }
        guard !noted.isEmpty else { return done() }
        perform(.noteRefusals(noted)) { [unowned self] result in
            guard case .written = result else { return storeFailed(result) }
            done()
        }
    }

    /// Forgets what was refused and was taken now.
    func accepted(_ names: [RevisionName], isOutgoing: Bool) {
        guard !refused.isEmpty else { return }
        let taken = names.filter { refused.remove(.init(name: $0, isOutgoing: isOutgoing)) != nil }
        guard !taken.isEmpty else { return }
        let keys = taken.map {
            DocumentRefusal.Key(
                peer: configuration.peerName, collection: .default, id: $0.id.text, isOutgoing: isOutgoing)
        }
        perform(.forgetRefusals(keys)) { [unowned self] result in
            guard case .written = result else { return storeFailed(result) }
        }
    }

    /// Begins to replicate, when all is known that has to be.
    func run(push: (CouchDBPusher, CouchDBCheckpointer)?, pull: (CouchDBPuller, CouchDBCheckpointer)?) {
        hasBegun = true
        if let (pusher, checkpointer) = push {
            self.pusher = pusher
            checkpointers.append(checkpointer)
        }
        if let (puller, checkpointer) = pull {
            self.puller = puller
            checkpointers.append(checkpointer)
        }
    }

    // MARK: After each input

    func handle(_ now: ReplicationInstant, _ body: () -> Void) {
        guard ending == nil else { return }
        self.now = now
        body()
        settle()
    }

    private func settle() {
        guard hasBegun, ending == nil else { return }
        pusher?.advance()
        puller?.advance()
        let isIdle = pusher?.isIdle ?? true && puller?.isIdle ?? true
        for checkpointer in checkpointers { checkpointer.advance(isIdle: isIdle) }
        guard ending == nil else { return }
        if isIdle, !configuration.isContinuous, checkpointers.allSatisfy(\.isSaved) { end(.completed) }
        counts.state = isIdle ? .idle : .busy
        counts.toSend = pusher == nil ? 0 : pusher?.remaining
        counts.toReceive = puller == nil ? 0 : puller?.remaining
        if let pusher { counts.sentThrough[.default] = pusher.sentThrough }
        counts.total = max(counts.total, counts.completed)
        status = counts
    }
}
