import KithDocuments
import KithTransport
import KithWire

/// One connection on which REST is served: one request after the other.
@LoopActor
final class RESTConnection {
    private let connection: Connection
    private let router: RESTRouter
    private let gate: RESTGate
    private let access: RESTAccess
    private var parser = HTTPRequestParser()
    private var head: HTTPRequestHead?
    /// Who makes the request that is coming or under way.
    private var caller = RESTCaller.nobody
    private var mayWriteDesignDocuments = false
    /// Whether it is being looked up who makes the request, and whether he may.
    private var isDeciding = false
    /// The body of the request that is coming, where it is collected …
    private var body: [UInt8] = []
    /// … and where it is taken as it comes.
    private var stream: RESTBody?
    /// Bytes of a body that came after its request was answered.
    private var discardedByteCount = 0
    private var exchange: RESTExchange?
    private var isFinishing = false
    private var isParsing = false
    /// Whether nothing of what comes is taken any more.
    private var isCut = false
    /// Ends a connection of which nobody knows whose it is.
    private var timer: LoopTimer?
    /// Called once, when the connection is gone.
    var onDone: (() -> Void)?

    init(_ connection: Connection, router: RESTRouter, gate: RESTGate, access: RESTAccess) {
        self.connection = connection
        self.router = router
        self.gate = gate
        self.access = access
    }

    func start() {
        connection.onReceive = { [weak self] bytes in self?.receive(bytes) }
        connection.onDrained = { [weak self] in self?.exchange?.connectionDrained() }
        connection.onClose = { [weak self] _ in self?.closed() }
        // A client may say that it sends no more and still wait for its answer.
        connection.onEnd = { [weak self] in self?.ended() }
        awaitProof()
    }

    /// Who has proved nothing by his connection has little time for a request that does.
    private func awaitProof() {
        guard !gate.caller.isOwner else { return }
        timer?.cancel()
        timer = EventLoop.shared.schedule(afterSeconds: NodeLimits.upgradeSecondsMax) { [weak self] in self?.cut() }
    }

    /// Cuts what is under way for anybody but the node's owner, since rights have changed; not what has changed them.
    func rightsChanged(by exchange: RESTExchange?) {
        guard !caller.isOwner, head != nil || self.exchange != nil else { return }
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
        let onDone = onDone
        self.onDone = nil
        onDone?()
    }

    private func receive(_ bytes: UnsafeRawBufferPointer) {
        guard !isCut else { return }
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
        case .head(let head):
            if let refusal = gate.refusal(of: head) { return refuse(refusal, withoutBody: head.method == "HEAD") }
            caller = gate.caller
            mayWriteDesignDocuments = true
            guard !caller.isOwner else { return begin(head) }
            isDeciding = true
            // Verifying a password may wait for others.
            timer?.cancel()
            // It goes on when that is known; nothing is parsed until then.
            Task.immediate { await decide(head) }
        case .body(let part):
            guard let stream else { return body.append(contentsOf: part) }
            if exchange != nil { return stream.append(part) }
            // The answer is given already: a little more is read, so that the client comes to see it.
            discardedByteCount += part.count
            if discardedByteCount > NodeLimits.discardedBodyBytesMax {
                isFinishing = true
                isCut = true
                connection.close()
            }
        case .end:
            guard let stream else { return handle(nil) }
            self.stream = nil
            stream.end()
        }
    }

    /// Finds out who makes the request, and whether he may.
    private func decide(_ head: HTTPRequestHead) async {
        do {
            let path = Self.request(head, body: []).path
            let address = connection.info?.remoteAddress?.host ?? ""
            let (caller, mayWriteDesignDocuments) = try await access.caller(
                of: head, path: path, on: gate.caller, address: address)
            isDeciding = false
            guard connection.isOpen else { return }
            self.caller = caller
            self.mayWriteDesignDocuments = mayWriteDesignDocuments
            if caller == .nobody { awaitProof() }
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
            caller == .nobody
            ? NodeLimits.strangerBodyBytesMax
            : isStreamed ? NodeLimits.streamedBodyBytesMax : NodeLimits.requestBodyBytesMax
        if head.expectsContinue { connection.write(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)) }
        guard isStreamed else { return }
        let stream = RESTBody()
        stream.onTaken = { [weak self] in self?.parse() }
        self.stream = stream
        discardedByteCount = 0
        handle(stream)
    }

    /// Answers with an error, and takes nothing more: whatever comes behind is not looked at.
    private func refuse(_ error: CouchDBError, withoutBody: Bool) {
        isFinishing = true
        isCut = true
        connection.write(HTTPAnswer.error(error).bytes(keepsAlive: false, withoutBody: withoutBody))
        connection.close()
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
            request: request, body: stream, caller: caller, mayWriteDesignDocuments: mayWriteDesignDocuments,
            connection: connection,
            keepsAlive: head.keepsAlive && !isFinishing && caller != .nobody
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
        awaitProof()
        guard keepsAlive, !isFinishing else { return connection.close() }
        parse()
    }
}
