import KithDocuments
import KithTransport
import KithWire

/// One connection of the administration socket: one request after the other.
@LoopActor
final class AdministrationConnection {
    private let connection: Connection
    private let router: RESTRouter
    private var parser = HTTPRequestParser()
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []
    private var exchange: RESTExchange?
    private var isFinishing = false
    /// Called once, when the connection is gone.
    var onDone: (() -> Void)?

    init(_ connection: Connection, router: RESTRouter) {
        self.connection = connection
        self.router = router
    }

    func start() {
        connection.onReceive = { [weak self] bytes in self?.receive(bytes) }
        connection.onDrained = { [weak self] in self?.exchange?.connectionDrained() }
        connection.onClose = { [weak self] _ in self?.closed() }
        // A client may say that it sends no more and still wait for its answer.
        connection.onEnd = { [weak self] in self?.finishSoon() }
    }

    /// Closes as soon as no request is under way.
    func finishSoon() {
        isFinishing = true
        if exchange == nil { connection.close() }
    }

    func cut() { connection.abort() }

    private func closed() {
        exchange?.connectionClosed()
        exchange = nil
        let onDone = onDone
        self.onDone = nil
        onDone?()
    }

    private func receive(_ bytes: UnsafeRawBufferPointer) {
        parser.receive(bytes)
        // A client that sends its next request early must wait for this one's answer; it may not fill memory meanwhile.
        if exchange != nil {
            if parser.bufferedBytes > NodeLimits.linkBufferBytesMax { connection.pauseReading() }
            return
        }
        parse()
    }

    private func parse() {
        do {
            while exchange == nil, let event = try parser.nextEvent() {
                switch event {
                case .head(let head):
                    self.head = head
                    body = []
                    parser.bodyBytesMax = NodeLimits.requestBodyBytesMax
                    if head.expectsContinue { connection.write(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)) }
                case .body(let part): body.append(contentsOf: part)
                case .end: handle()
                }
            }
        } catch {
            connection.write(HTTPAnswer.error(error.kithError).bytes(keepsAlive: false))
            connection.close()
        }
    }

    private func handle() {
        guard let head else { return }
        let request = RESTRequest(
            method: head.method, path: head.target.segments.filter { !$0.isEmpty },
            query: Dictionary(head.target.query.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first }),
            body: body,
            contentType: head.headers["content-type"])
        body = []
        self.head = nil
        let exchange = RESTExchange(
            request: request, connection: connection, keepsAlive: head.keepsAlive && !isFinishing
        ) {
            [weak self] keepsAlive in self?.finished(keepsAlive)
        }
        self.exchange = exchange
        let router = self.router
        Task { @LoopActor in await router.handle(exchange) }
    }

    private func finished(_ keepsAlive: Bool) {
        exchange = nil
        guard keepsAlive, !isFinishing else { return connection.close() }
        connection.resumeReading()
        parse()
    }
}
