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
    private let budget: RESTBodyBudget
    /// Where the client is.
    let place: ClientPlace
    /// Counts up from connection to connection of one server.
    var number: UInt64 = 0
    /// The user who has logged in on it, where it proves nobody by itself.
    private(set) var user: String?
    private var parser = HTTPRequestParser()
    private var head: HTTPRequestHead?
    /// Who makes the request that is coming or under way.
    private var permit = RESTPermit(caller: .nobody, mayWriteDesignDocuments: false)
    private var passage = RESTPassage()
    /// Whether it is being looked up who makes the request, and whether he may.
    private var isDeciding = false
    /// The body of the request that is coming, where it is collected …
    private var body: [UInt8] = []
    /// What of it is counted.
    private var held: RESTHeldBytes
    /// … and where it is taken as it comes.
    private var stream: RESTBody?
    /// Bytes of a body that came after its request was answered.
    private var discardedByteCount = 0
    private var exchange: RESTExchange?
    private var isFinishing = false
    private var isParsing = false
    /// Whether nothing of what comes is taken any more.
    private(set) var isCut = false
    /// Whether the client sends no more; it may still wait for answers.
    private var hasEnded = false
    /// Ends a connection on which nothing comes, or goes.
    private let patience: RESTPatience
    /// Asked when a user has logged in on it.
    var hasRoom: ((RESTConnection) -> Bool)?
    /// Called once, when the connection is gone.
    var onDone: (() -> Void)?

    /// - Parameter budget: what bodies are counted in, but for the owner's.
    init(
        _ connection: Connection, router: RESTRouter, gate: RESTGate, access: RESTAccess, budget: RESTBodyBudget
    ) {
        self.connection = connection
        self.router = router
        self.gate = gate
        self.access = access
        self.budget = budget
        place = ClientPlace(connection.info?.remoteAddress)
        held = RESTHeldBytes(nil, .nobody, at: place)
        patience = RESTPatience(connection)
    }

    /// Whether it has proved nothing, and nobody has logged in on it.
    var isStranger: Bool { gate.caller == .nobody && user == nil }
    /// Whether a request is coming or under way.
    var isUnderWay: Bool { head != nil || exchange != nil || stream != nil || isDeciding }

    /// Whether a request to a database is coming or under way.
    func isUnderWay(with database: DatabaseName) -> Bool {
        (head != nil || exchange != nil) && permit.database == database
    }

    /// Begins to serve.
    ///
    /// - Parameter first: a head that was read already, with what has read it and has what came behind.
    func start(with first: (head: HTTPRequestHead, parser: HTTPRequestParser)? = nil) {
        connection.onReceive = { [weak self] bytes in self?.receive(bytes) }
        connection.onDrained = { [weak self] in
            self?.exchange?.connectionDrained()
            self?.parse()
        }
        connection.onClose = { [weak self] _ in self?.closed() }
        // A client may say that it sends no more and still wait for its answer.
        connection.onEnd = { [weak self] in self?.ended() }
        patience.onIdle = { [weak self] in self?.finishSoon() }
        patience.onSlow = { [weak self] in self?.cut() }
        awaitRequest()
        guard let first else { return }
        parser = first.parser
        take(head: first.head)
        parse()
    }

    /// Who has proved nothing has little time for a request that does; others have more.
    private func awaitRequest() {
        guard !gate.isOwners else { return }
        let isKnown = !permit.caller.isUnknown || !isStranger
        patience.awaitRequest(seconds: isKnown ? NodeLimits.restIdleSecondsMax : NodeLimits.upgradeSecondsMax)
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
        if exchange == nil, !isDeciding { close() }
    }

    /// Ends it at once. Nothing is written for the request that is under way from now on.
    func cut() {
        isCut = true
        exchange?.revocation.revoke()
        connection.abort()
    }

    /// Ends it when what waits has been sent. Nothing that comes behind is carried out (RFC 9112 section 9.6).
    private func close() {
        isCut = true
        patience.stop()
        connection.close()
    }

    private func ended() {
        // What has come is still taken; a request that is cut off shows by this.
        parser.receiveEnd()
        hasEnded = true
        parse()
    }

    private func closed() {
        patience.stop()
        // What a request holds that is still being worked on is given back when that ends.
        if exchange == nil { held.giveAll() }
        exchange?.connectionClosed()
        exchange = nil
        let onDone = onDone
        self.onDone = nil
        onDone?()
    }

    private func receive(_ bytes: UnsafeRawBufferPointer) {
        guard !isCut else { return }
        patience.received(bytes.count)
        parser.receive(bytes)
        parse()
    }

    /// Whether the next event may be taken. A client that sends its next request early must wait for this one's answer,
    /// one that does not take its answers for that, and one that sends faster than the disk takes it must wait as well.
    private var mayParse: Bool {
        guard !isCut, !isDeciding, connection.bufferedByteCount < NodeLimits.linkBufferBytesMax else { return false }
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
                return close()
            }
            // Who takes the body answers with this, and nothing more is read.
            self.stream = nil
            stream.fail(error.kithError)
            if exchange == nil { close() }
            return
        } catch {
            connection.abort()
        }
        if hasEnded, mayParse { return finishSoon() }
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
                do throws(CouchDBError) {
                    try held.take(part.count)
                } catch {
                    return refuse(error)
                }
                return body.append(contentsOf: part)
            }
            if exchange != nil { return stream.append(part) }
            // The answer is given already: a little more is read, so that the client comes to see it.
            discardedByteCount += part.count
            if discardedByteCount > NodeLimits.discardedBodyBytesMax {
                isFinishing = true
                close()
            }
        case .end:
            if let preflight = passage.preflight { return answer(preflight) }
            guard let stream else { return handle(nil) }
            self.stream = nil
            stream.end()
            if exchange == nil { awaitRequest() }
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
        patience.stop()
        // It goes on when that is known; nothing is parsed until then.
        Task.immediate { await decide(head) }
    }

    /// A browser has asked whether a page may ask. That proves nothing, so it does not make the connection live longer.
    private func answer(_ preflight: HTTPAnswer) {
        guard let head else { return }
        self.head = nil
        let keepsAlive = head.keepsAlive && !isFinishing
        connection.write(preflight.bytes(keepsAlive: keepsAlive))
        if !keepsAlive { close() }
    }

    /// Finds out who makes the request, and whether he may.
    private func decide(_ head: HTTPRequestHead) async {
        do {
            permit.caller = .nobody
            let permit = try await access.permit(
                head, path: RESTRequest(head).path, gate: gate, passage: passage, place: place)
            isDeciding = false
            guard connection.isOpen, !isCut else { return }
            self.permit = permit
            if let cookie = permit.cookie { passage.headers.append(("Set-Cookie", cookie)) }
            try noteUser()
            if permit.caller.isUnknown { awaitRequest() }
            begin(head)
        } catch {
            isDeciding = false
            guard connection.isOpen, !isCut else { return }
            return refuse(CouchDBError(error), withoutBody: head.method == "HEAD")
        }
        parse()
        if isFinishing, exchange == nil { close() }
    }

    /// - Throws: 503 where the user has too many connections.
    private func noteUser() throws {
        guard gate.caller == .nobody, case .user(let principal) = permit.caller else { return }
        user = principal.name
        guard hasRoom?(self) ?? true else {
            throw KithError(.busy, "you have too many connections", remedy: "Close some, and try again")
        }
    }

    /// The request may be made: its body is taken.
    private func begin(_ head: HTTPRequestHead) {
        self.head = head
        body = []
        let request = RESTRequest(head)
        let isStreamed = head.method == "PUT" && RESTRouter.takesBodyAsStream(request)
        parser.bodyBytesMax = RESTBodyLimit.bytesMax(request, permit, isStreamed: isStreamed)
        held = RESTHeldBytes(gate.isOwners ? nil : budget, permit.caller, at: place)
        if head.expectsContinue { connection.write(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)) }
        if isStreamed {
            let stream = RESTBody()
            stream.onTaken = { [weak self] in self?.parse() }
            self.stream = stream
            discardedByteCount = 0
            handle(stream)
        }
        // A login has the time that it had.
        guard !gate.isOwners, permit.caller != .nobody, self.head != nil || stream != nil else { return }
        patience.awaitBody { [weak self] in
            guard let self, self.head != nil || stream != nil else { return nil }
            return mayParse
        }
    }

    /// Answers with an error, and takes nothing more: whatever comes behind is not looked at.
    private func refuse(_ error: CouchDBError, withoutBody: Bool = false) {
        isFinishing = true
        self.head = nil
        body = []
        held.giveAll()
        var answer = HTTPAnswer.error(error)
        answer.headers += passage.headers
        connection.write(answer.bytes(keepsAlive: false, withoutBody: withoutBody))
        close()
    }

    private func handle(_ stream: RESTBody?) {
        guard let head else { return }
        var request = RESTRequest(head, body: body)
        request.isSecure = gate.door != .socket
        if !gate.isOwners {
            // Who it is is known: a feed of hours keeps no password.
            request.headers["Authorization"] = nil
            if !permit.isForEverybody { request.headers["Cookie"] = nil }
        }
        body = []
        self.head = nil
        patience.stop()
        let exchange = RESTExchange(
            request: request, body: stream, permit: permit, passage: passage, place: place, held: held,
            connection: connection, keepsAlive: head.keepsAlive && !isFinishing && permit.caller != .nobody
        ) {
            [weak self] keepsAlive in self?.finished(keepsAlive)
        }
        self.exchange = exchange
        let (router, held) = (self.router, self.held)
        Task.immediate {
            await router.handle(exchange)
            held.giveAll()
        }
    }

    private func finished(_ keepsAlive: Bool) {
        exchange = nil
        stream?.onTaken = nil
        guard keepsAlive, !isFinishing else { return close() }
        awaitRequest()
        parse()
    }
}
