import KithDocuments
import KithTransport
import KithTrust

/// One exchange of statements with another node: its connection, its time, and the steps of it.
@LoopActor
final class TrustLink {
    /// Where the other node is.
    private(set) var address: String
    /// The key that it has proved to own.
    private(set) var peerID: NodeID?
    /// Who is to be told; `nil` when it is only asked who is there.
    let target: NodeID?
    /// Whether the other node has dialled.
    let isInbound: Bool
    /// Why it failed.
    private(set) var error: KithError?
    private(set) var isOver = false
    private let manager: TrustManager
    private var session: TrustExchange?
    private var candidates: ArraySlice<SocketAddress>
    private var dialled: SocketAddress?
    private var connection: Connection?
    private var timer: LoopTimer?
    /// Up to what the other side has been told when it says that it has stored it.
    private var tellingVersion: UInt64 = 0
    private var hasConfirmed = false

    /// A node that has dialled.
    init(accepted connection: Connection, info: ConnectionInfo, manager: TrustManager) {
        self.manager = manager
        target = nil
        isInbound = true
        address = info.remoteName
        candidates = []
        take(connection)
        begin(info)
        startTimer()
    }

    /// A node that is to be told, or asked: its addresses are tried one after the other.
    init(dialling addresses: [SocketAddress], target: NodeID?, manager: TrustManager) {
        self.manager = manager
        self.target = target
        isInbound = false
        address = addresses.first?.description ?? ""
        candidates = addresses[...]
    }

    func start() { tryNext() }

    /// Ends it.
    func stop() { finish(KithError(.closed, "the exchange was given up")) }

    private func tryNext() {
        drop()
        session = nil
        peerID = nil
        guard let next = candidates.popFirst() else {
            return finish(error ?? KithError(.connectionLost, "no address of the other node answers"))
        }
        address = next.description
        dialled = next
        startTimer()
        var options = ConnectionOptions()
        options.connectSeconds = NodeLimits.connectSecondsMax
        let connection = Connection.dial(next, tls: manager.client, options: options)
        take(connection)
        connection.onReady = { [weak self] in self?.begin($0) }
    }

    private func take(_ connection: Connection) {
        self.connection = connection
        connection.onReceive = { [weak self] bytes in self?.receive(bytes) }
        connection.onClose = { [weak self] error in
            self?.failed(error ?? KithError(.connectionLost, "the other node closed the connection"))
        }
    }

    private func begin(_ info: ConnectionInfo) {
        guard info.tlsVersion == "TLSv1.3", let certificate = info.peer else {
            return failed(KithError(.tlsFailed, "\(address) does not speak TLS as it is needed"))
        }
        manager.shown(certificate)
        peerID = NodeID(subjectPublicKeyHash: certificate.publicKeyHash)
        address = info.remoteName
        session = TrustExchange(instance: manager.instance, rotations: manager.rotations)
        flush()
    }

    private func startTimer() {
        timer?.cancel()
        timer = EventLoop.shared.schedule(afterSeconds: NodeLimits.trustExchangeSeconds) { [weak self] in
            self?.failed(KithError(.timedOut, "the other node did not tell all in time"))
        }
    }

    /// Nothing came of this address: the next one is tried, by the side that dials.
    private func failed(_ error: KithError) {
        guard !isOver else { return }
        self.error = error
        candidates.isEmpty ? finish(error) : tryNext()
    }

    private func finish(_ error: KithError?) {
        guard !isOver else { return }
        isOver = true
        self.error = error
        timer?.cancel()
        timer = nil
        drop()
        manager.ended(self)
    }

    private func drop() {
        connection?.leave()
        connection = nil
    }

    // MARK: The exchange

    private func receive(_ bytes: UnsafeRawBufferPointer) {
        guard let steps = session?.receive(bytes) else { return }
        do {
            for step in steps where !isOver { try handle(step) }
        } catch {
            return failed(error)
        }
        guard !isOver else { return }
        if session?.isBroken ?? false {
            return failed(KithError(.protocolViolation, "\(address) does not understand this version of the exchange"))
        }
        flush()
    }

    private func handle(_ step: TrustExchange.Step) throws(KithError) {
        guard let peerID else { return }
        switch step {
        case .introduced(let instance, let rotations):
            guard peerID != manager.ownID else {
                if instance != manager.instance { manager.ownKeySeen(at: address) }
                return failed(KithError(.wrongKey, "\(address) has this node's own key"))
            }
            manager.seen(peerID, at: dialled)
            try manager.received(rotations, from: peerID, at: address)
            tellingVersion = manager.version
            session?.tell(manager.statements(for: peerID))
        case .told(let statements):
            let before = manager.version
            // Others could play back what was said once and taken back since.
            if manager.trusts(peerID) { try manager.received(statements, from: peerID, at: address) }
            // What it has said itself it need not be told.
            if before == tellingVersion { tellingVersion = manager.version }
            session?.confirm(isTrusted: manager.trusts(peerID))
            hasConfirmed = true
        case .stored(let isTrusted):
            // Who does not trust this node has passed over what it says.
            if isTrusted { manager.noteTold(peerID, tellingVersion) }
            // The other one may still be waiting for this side's word, which goes out before the end.
            flush()
            if let target, target != peerID, !candidates.isEmpty, !manager.isTold(target) { return tryNext() }
            guard hasConfirmed else {
                return finish(KithError(.protocolViolation, "\(address) confirms what it has not told"))
            }
            finish(isTrusted ? nil : KithError(.notTrusted, "\(address) does not trust this node"))
        }
    }

    private func flush() {
        guard let bytes = session?.takeOutput(), !bytes.isEmpty else { return }
        connection?.write(bytes)
    }
}
