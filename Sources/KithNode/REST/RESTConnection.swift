import KithDocuments
import KithTransport
import KithWire

/// One connection on which REST is served: one request after the other.
@LoopActor
final class RESTConnection {
    private let connection: Connection
    private let router: RESTRouter
    let gate: RESTGate
    private let access: RESTAccess
    private let budget: RESTBodyBudget?
    private var parser = HTTPRequestParser()
    private var head: HTTPRequestHead?
    /// Who makes the request that is coming or under way.
    private var permit = RESTPermit(caller: .nobody, mayWriteDesignDocuments: false)
    private var passage = RESTPassage()
    /// Whether it is being looked up who makes the request, and whether he may.
    private var isDeciding = false
    /// The body of the request that is coming, where it is collected …
    private var body: [UInt8] = []
    /// What of it was taken from the budget.
    private var budgetedByteCount = 0
    /// … and where it is taken as it comes.
    private var stream: RESTBody?
    /// Bytes of a body that came after its request was answered.
    private var discardedByteCount = 0
    private var exchange: RESTExchange?
    private var isFinishing = false
    private var isParsing = false
    /// Whether nothing of what comes is taken any more.
    private var isCut = false
    /// Ends a connection on which nothing comes.
    private var timer: LoopTimer?
    /// When something came last, as `EventLoop.monotonicNanoseconds`.
    private var lastReceivedNanoseconds: UInt64 = 0
    /// Called once, when the connection is gone.
    var onDone: (() -> Void)?

    /// - Parameter budget: what bodies are counted in; nil where the caller is believed not to send too much.
    init(
        _ connection: Connection, router: RESTRouter, gate: RESTGate, access: RESTAccess, budget: RESTBodyBudget?
    ) {
        self.connection = connection
        self.router = router
        self.gate = gate
        self.access = access
        self.budget = budget
    }

    /// Begins to serve.
    ///
    /// - Parameter first: a head that was read already, with what has read it and has what came behind.
    func start(with first: (head: HTTPRequestHead, parser: HTTPRequestParser)? = nil) {
        connection.onReceive = { [weak self] bytes in self?.receive(bytes) }
        connection.onDrained = { [weak self] in self?.exchange?.connectionDrained() }
        connection.onClose = { [weak self] _ in self?.closed() }
        // A client may say that it sends no more and still wait for its answer.
        connection.onEnd = { [weak self] in self?.ended() }
        awaitRequest()
        guard let first else { return }
        parser = first.parser
        take(head: first.head)
        parse()
    }

    /// Where somebody is: see `SocketAddress.hostNetwork`.
    private var address: String { connection.info?.remoteAddress?.hostNetwork ?? "" }

    /// Who has proved nothing by his connection has little time for a request that does; others have more.
    private func awaitRequest() {
        guard !gate.isOwners else { return }
        timer?.cancel()
        let isKnown = !permit.caller.isUnknown || gate.caller != .nobody
        let seconds = isKnown ? NodeLimits.restIdleSecondsMax : NodeLimits.upgradeSecondsMax
        timer = EventLoop.shared.schedule(afterSeconds: seconds) { [weak self] in self?.cut() }
    }

    /// A body that has begun goes on coming, unless it is this side that takes nothing.
    private func awaitBody() {
        guard !gate.isOwners, permit.caller != .nobody else { return }
        timer?.cancel()
        timer = EventLoop.shared.schedule(afterSeconds: NodeLimits.restIdleSecondsMax) { [weak self] in
            guard let self, head != nil || stream != nil else { return }
            let silence = Double(EventLoop.monotonicNanoseconds - lastReceivedNanoseconds) / 1e9
            guard mayParse, silence >= NodeLimits.restIdleSecondsMax else { return awaitBody() }
            cut()
        }
    }

    /// Cuts what is under way for anybody but the node's owner and its peers, since the rights of users have changed; not what
    /// has changed them.
    func rightsChanged(by exchange: RESTExchange?) {
        guard !gate.isOwners, head != nil || self.exchange != nil else { return }
        if case .peer = permit.caller { return }
        if let exchange, self.exchange === exchange { return }
        cut()
    }

    /// Closes as soon as no request is under way.
    func finishSoon() {
        isFinishing = true
        if exchange == nil, !isDeciding { connection.close() }
    }

    func cut() { connection.abort() }

    private func ended() {
        // What has come is still taken; a request that is cut off shows by this.
        parser.receiveEnd()
        parse()
        finishSoon()
    }

    private func closed() {
        timer?.cancel()
        timer = nil
        exchange?.connectionClosed()
        exchange = nil
        giveBack()
        let onDone = onDone
        self.onDone = nil
        onDone?()
    }

    private func receive(_ bytes: UnsafeRawBufferPointer) {
        guard !isCut else { return }
        if !gate.isOwners { lastReceivedNanoseconds = EventLoop.monotonicNanoseconds }
        parser.receive(bytes)
        parse()
    }

    /// Whether the next event may be taken. A client that sends its next request early must wait for this one's answer,
    /// and one that sends faster than the disk takes it must wait as well.
    private var mayParse: Bool {
        guard !isCut, !isDeciding else { return false }
        guard exchange != nil else { return true }
        return stream.map { $0.bufferedByteCount < NodeLimits.linkBufferBytesMax } ?? false
    }

    private func parse() {
        guard !isParsing else { return }
        isParsing = true
        defer { isParsing = false }
        do {
            while mayParse, let event = try parser.nextEvent() { try take(event) }
        } catch let error as HTTPParseError {
            isFinishing = true
            guard let stream else {
                connection.write(HTTPAnswer.error(error.kithError).bytes(keepsAlive: false))
                return connection.close()
            }
            // Who takes the body answers with this, and nothing more is read.
            self.stream = nil
            stream.fail(error.kithError)
            if exchange == nil { connection.close() }
            return
        } catch {
            connection.abort()
        }
        // Nobody fills memory by sending more than is taken.
        if parser.bufferedBytes > NodeLimits.linkBufferBytesMax, !mayParse {
            connection.pauseReading()
        } else {
            connection.resumeReading()
        }
    }

    private func take(_ event: HTTPRequestEvent) throws {
        switch event {
        case .head(let head): take(head: head)
        case .body(let part):
            guard let stream else {
                if let budget {
                    guard budget.take(part.count) else {
                        return refuse(CouchDBError(KithError(.busy, "too much is sent at once; try again in a moment")))
                    }
                    budgetedByteCount += part.count
                }
                return body.append(contentsOf: part)
            }
            if exchange != nil { return stream.append(part) }
            // The answer is given already: a little more is read, so that the client comes to see it.
            discardedByteCount += part.count
            if discardedByteCount > NodeLimits.discardedBodyBytesMax {
                isFinishing = true
                isCut = true
                connection.close()
            }
        case .end:
            if let preflight = passage.preflight { return answer(preflight) }
            guard let stream else { return handle(nil) }
            self.stream = nil
            stream.end()
        }
    }

    private func take(head: HTTPRequestHead) {
        permit = RESTPermit(caller: gate.caller, mayWriteDesignDocuments: true)
        passage = RESTPassage()
        do {
            passage = try gate.passage(of: head)
        } catch {
            return refuse(error, withoutBody: head.method == "HEAD")
        }
        guard !gate.isOwners else { return begin(head) }
        guard passage.preflight == nil else {
            self.head = head
            parser.bodyBytesMax = 0
            return
        }
        isDeciding = true
        // Verifying a password may wait for others.
        timer?.cancel()
        // It goes on when that is known; nothing is parsed until then.
        Task.immediate { await decide(head) }
    }

    /// A browser has asked whether a page may ask. That proves nothing, so it does not make the connection live longer.
    private func answer(_ preflight: HTTPAnswer) {
        guard let head else { return }
        self.head = nil
        // Who asks and does not read fills no memory.
        guard connection.bufferedByteCount < NodeLimits.linkBufferBytesMax else { return cut() }
        let keepsAlive = head.keepsAlive && !isFinishing
        connection.write(preflight.bytes(keepsAlive: keepsAlive))
        if !keepsAlive { connection.close() }
    }

    /// Finds out who makes the request, and whether he may.
    private func decide(_ head: HTTPRequestHead) async {
        do {
            permit.caller = .nobody
            let permit = try await access.permit(
                head, path: Self.request(head, body: []).path, gate: gate, passage: passage, address: address)
            isDeciding = false
            guard connection.isOpen else { return }
            self.permit = permit
            if permit.caller.isUnknown { awaitRequest() }
            begin(head)
        } catch {
            isDeciding = false
            guard connection.isOpen else { return }
            return refuse(CouchDBError(error), withoutBody: head.method == "HEAD")
        }
        parse()
        // The client has ended its side in the middle of the request.
        if isFinishing, exchange == nil { connection.close() }
    }

    /// The request may be made: its body is taken.
    private func begin(_ head: HTTPRequestHead) {
        self.head = head
        body = []
        let isStreamed = head.method == "PUT" && RESTRouter.takesBodyAsStream(Self.request(head, body: []))
        parser.bodyBytesMax =
            permit.isForEverybody
            ? NodeLimits.strangerBodyBytesMax
            : isStreamed
                ? NodeLimits.streamedBodyBytesMax
                : gate.door == .network ? NodeLimits.networkBodyBytesMax : NodeLimits.requestBodyBytesMax
        if head.expectsContinue { connection.write(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)) }
        if isStreamed {
            let stream = RESTBody()
            stream.onTaken = { [weak self] in self?.parse() }
            self.stream = stream
            discardedByteCount = 0
            handle(stream)
        }
        if self.head != nil || stream != nil { awaitBody() }
    }

    /// Answers with an error, and takes nothing more: whatever comes behind is not looked at.
    private func refuse(_ error: CouchDBError, withoutBody: Bool = false) {
        isFinishing = true
        isCut = true
        var answer = HTTPAnswer.error(error)
        answer.headers += passage.headers
        connection.write(answer.bytes(keepsAlive: false, withoutBody: withoutBody))
        connection.close()
    }

    private func giveBack() {
        budget?.give(budgetedByteCount)
        budgetedByteCount = 0
    }

    private static func request(_ head: HTTPRequestHead, body: [UInt8]) -> RESTRequest {
        RESTRequest(
            method: head.method, path: head.target.segments.filter { !$0.isEmpty },
            query: Dictionary(head.target.query.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first }),
            body: body, headers: head.headers, minorVersion: head.minorVersion)
    }

    private func handle(_ stream: RESTBody?) {
        guard let head else { return }
        var request = Self.request(head, body: body)
        request.isSecure = gate.door != .socket
        body = []
        self.head = nil
        timer?.cancel()
        timer = nil
        let exchange = RESTExchange(
            request: request, body: stream, permit: permit, passage: passage, address: address,
            connection: connection, keepsAlive: head.keepsAlive && !isFinishing && permit.caller != .nobody
        ) {
            [weak self] keepsAlive in self?.finished(keepsAlive)
        }
        self.exchange = exchange
        let router = self.router
        Task.immediate { await router.handle(exchange) }
    }

    private func finished(_ keepsAlive: Bool) {
        exchange = nil
        stream?.onTaken = nil
        giveBack()
        awaitRequest()
        guard keepsAlive, !isFinishing else { return connection.close() }
        parse()
    }
}
