import KithDocuments
import KithTransport
import KithTrust
import KithWire

/// A connection that a trusted peer has opened, until it has become a link or was refused.
@LoopActor
final class InboundConnection {
    private let connection: Connection
    private let info: ConnectionInfo
    let peer: NodeID
    private let registry: DatabaseRegistry
    private let links: LinkManager
    private let log: NodeLog
    private var parser = HTTPRequestParser()
    private var head: HTTPRequestHead?
    private var timer: LoopTimer?
    /// Called once, when the connection has become a link or is gone.
    var onDone: (() -> Void)?
    /// Takes a connection that asks for something else than a link; nil where nothing else is served.
    var onREST: ((Connection, HTTPRequestHead, HTTPRequestParser) -> Void)?

    init(
        _ connection: Connection, info: ConnectionInfo, peer: NodeID, registry: DatabaseRegistry, links: LinkManager,
        log: NodeLog
    ) {
        self.connection = connection
        self.info = info
        self.peer = peer
        self.registry = registry
        self.links = links
        self.log = log
    }

    func start() {
        connection.onReceive = { [weak self] in self?.receive($0) }
        connection.onClose = { [weak self] _ in self?.done() }
        timer = EventLoop.shared.schedule(afterSeconds: NodeLimits.upgradeSecondsMax) { [weak self] in
            self?.cut("asked for nothing in \(Int(NodeLimits.upgradeSecondsMax)) s")
        }
    }

    /// Closes it because the node stops.
    func stop() {
        connection.abort()
        done()
    }

    private func done() {
        timer?.cancel()
        timer = nil
        connection.onReceive = nil
        connection.onClose = nil
        let onDone = onDone
        self.onDone = nil
        onDone?()
    }

    private func cut(_ reason: String) {
        log("\(info.remoteName)  cut off: \(reason)", key: "inbound \(peer) \(reason)")
        connection.abort()
        done()
    }

    private func receive(_ bytes: UnsafeRawBufferPointer) {
        parser.receive(bytes)
        do {
            while let event = try parser.nextEvent() {
                switch event {
                case .head(let head):
                    if let onREST, Self.database(head) == nil {
                        let parser = self.parser
                        done()
                        return onREST(connection, head, parser)
                    }
                    self.head = head
                    parser.bodyBytesMax = 0
                case .body: break
                case .end: if let head { return answer(head) }
                }
            }
        } catch {
            cut("it does not speak HTTP: \(error)")
        }
    }

    /// The database with which a link is asked for.
    static func database(_ head: HTTPRequestHead) -> DatabaseName? {
        guard head.target.segments.count == 2, head.target.segments[1] == "_blipsync" else { return nil }
        return try? DatabaseName(head.target.segments[0])
    }

    private func answer(_ head: HTTPRequestHead) {
        guard let name = Self.database(head) else {
            return refuse(
                KithError(
                    .notFound, "only replication is served here", remedy: "Open a WebSocket at /DATABASE/_blipsync"))
        }
        // Who may do nothing with it learns nothing of it, not even that it cannot be opened.
        let key = LinkKey(peer: peer, database: name)
        guard links.access(key) != .noAccess else { return refuse(Self.noDatabase(name)) }
        guard let database = registry.find(name) else {
            guard registry.failure(name) != nil else { return refuse(Self.noDatabase(name)) }
            return refuse(KithError(.busy, "the database \"\(name)\" cannot be opened here"))
        }
        let offer: WebSocketHandshake.Offer
        let token: String
        do {
            offer = try WebSocketHandshake.checkRequest(head)
            token = try WebSocketHandshake.chooseSubprotocol(from: offer)
        } catch {
            return refuse(KithError(.badRequest, "no upgrade to replication: \(error.reason)"))
        }
        let peerIsKith = head.headers[KithHeader.name] != nil
        let isOneShot = peerIsKith && head.headers[KithHeader.oneShotName] != nil
        if let refusal = links.refusal(
            peer: peer, database: name, peerIsKith: peerIsKith, isOneShot: isOneShot)
        {
            return refuse(refusal)
        }
        let remainder = parser.takeRemainder()
        var response = WebSocketHandshake.response(to: offer, subprotocol: token)
        response.headers.add(KithHeader.name, KithHeader.value)
        var bytes: [UInt8] = []
        response.append(to: &bytes)
        connection.write(bytes)
        let connection = self.connection
        done()
        links.accept(
            PeerLink(
                role: .passive, connection: connection, address: info.remoteName,
                tlsVersion: info.tlsVersion ?? "TLS", remainder: remainder,
                peerIsKith: peerIsKith, ownID: links.ownID, key: key, database: database,
                directions: links.access(key).directions, isOneShot: isOneShot, filter: links.filter(key)))
    }

    private static func noDatabase(_ name: DatabaseName) -> KithError {
        KithError(.databaseNotFound, "there is no database \"\(name)\" here")
    }

    private func refuse(_ error: KithError) {
        connection.write(HTTPAnswer.error(error).bytes(keepsAlive: false))
        connection.close()
        done()
    }
}
