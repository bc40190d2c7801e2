import KithDocuments
import KithTransport
import KithTrust

/// One pairing of this node with another machine: its connection, its time, and what a person can be shown of it.
@LoopActor
final class NodePairing {
    /// Names it as long as the node runs.
    let number: Int
    let role: PairingSession.Role
    /// Where the other machine is.
    private(set) var address: String
    /// Changes whenever something that is shown has changed.
    private(set) var version = 1
    /// Why it failed, where the state alone does not say it.
    private(set) var error: KithError?
    /// The entry in the book, once there is one.
    private(set) var peer: Peer?
    /// When the other machine has asked, in seconds since 1970.
    let beganSeconds = WallClock.seconds
    private(set) var session: PairingSession?
    /// The address that was dialled, by the side that asks.
    private(set) var dialled: SocketAddress?
    private var connection: Connection?
    private var candidates: ArraySlice<SocketAddress> = []
    private var timer: LoopTimer?
    let manager: PairingManager

    /// A machine that has dialled.
    init(number: Int, accepted connection: Connection, info: ConnectionInfo, manager: PairingManager) {
        self.number = number
        self.manager = manager
        role = .responder
        address = info.remoteName
        take(connection)
        begin(connection, info)
        startTimer(NodeLimits.pairingOpenSeconds)
    }

    /// A machine that is asked: its addresses are tried one after the other.
    init(number: Int, asking candidates: [SocketAddress], manager: PairingManager) {
        self.number = number
        self.manager = manager
        role = .initiator
        address = candidates.first?.description ?? ""
        self.candidates = candidates[...]
    }

    /// The state, in one word, as REST tells it.
    var stateName: String {
        guard let session else { return error == nil ? "connecting" : "failed" }
        return switch session.state {
        case .opening: "connecting"
        case .waiting: "waiting"
        case .exchanging: "exchanging"
        case .comparing: "comparing"
        case .waitingForPeer: "waiting_for_peer"
        case .agreed, .stored: "agreed"
        case .paired: "paired"
        case .failed, .lost: "failed"
        }
    }

    /// Whether nothing more happens.
    var isOver: Bool { session.map(\.state.isOver) ?? (error != nil) }

    /// Whether the person at this machine is asked to accept it.
    var awaitsAcceptance: Bool { role == .responder && session?.state == .waiting }

    // MARK: The person at this machine

    func start() {
        tryNext()
    }

    /// Accepts the request of the other machine.
    func accept() {
        guard awaitsAcceptance else { return }
        session?.accept()
        startTimer(NodeLimits.pairingCompareSeconds)
        advance()
    }

    /// What the person says of the two numbers.
    func answer(same: Bool) {
        session?.answer(same: same)
        advance()
    }

    /// Ends it, unless it is over.
    func end(_ reason: PairingEnd) {
        guard !isOver else { return }
        guard session != nil else {
            return fail(
                reason == .expired
                    ? KithError(.timedOut, "\(address) did not answer in time")
                    : KithError(.closed, "the pairing was given up"))
        }
        session?.fail(reason)
        advance()
    }

    // MARK: The connection

    private func tryNext() {
        guard let next = candidates.popFirst() else {
            return fail(
                error ?? KithError(.connectionLost, "no address of the other machine answers"))
        }
        error = nil
        address = next.description
        dialled = next
        var options = ConnectionOptions()
        options.connectSeconds = NodeLimits.connectSecondsMax
        let connection = Connection.dial(next, tls: manager.client, options: options)
        take(connection)
        connection.onReady = { [weak self, unowned connection] info in
            guard let self else { return }
            begin(connection, info)
            startTimer(NodeLimits.pairingAskSeconds)
            advance()
        }
    }

    private func take(_ connection: Connection) {
        self.connection = connection
        connection.onReceive = { [weak self] bytes in
            self?.session?.receive(bytes)
            self?.advance()
        }
        connection.onClose = { [weak self] in self?.closed($0) }
    }

    private func begin(_ connection: Connection, _ info: ConnectionInfo) {
        guard info.tlsVersion == "TLSv1.3", let hash = info.peer?.publicKeyHash,
            let exporter = connection.exportKeyingMaterial(
                label: PairingSession.exporterLabel, context: [], count: PairingSession.nonceByteCount),
            let nonce = try? PairingSession.freshNonce()
        else { return fail(KithError(.tlsFailed, "\(address) does not speak TLS as pairing needs it")) }
        let id = NodeID(subjectPublicKeyHash: hash)
        guard id != manager.ownID else { return fail(KithError(.badRequest, "that is this node itself")) }
        address = info.remoteName
        session = PairingSession(
            role: role, ownID: manager.ownID, ownName: manager.ownName, peerID: id, exporter: exporter, nonce: nonce)
    }

    private func closed(_ error: KithError?) {
        connection = nil
        guard let session, !session.state.isOver else {
            if self.session == nil, self.error == nil {
                self.error = error ?? KithError(.connectionLost, "\(address) closed the connection")
                tryNext()
            }
            return
        }
        self.session?.connectionLost()
        if error?.code == .notTrusted {
            self.error = KithError(
                .notTrusted, "\(address) refuses to pair this way",
                remedy: "Its version of Kith may be older: use kith trust on both machines")
        }
        advance()
    }

    private func fail(_ error: KithError) {
        self.error = error
        session = nil
        finish()
        changed()
    }

    private func finish() {
        timer?.cancel()
        timer = nil
        candidates = []
        guard let connection else { return }
        self.connection = nil
        connection.onReceive = nil
        connection.onClose = nil
        connection.onReady = nil
        if connection.isOpen { connection.close() } else { connection.abort() }
    }

    private func startTimer(_ seconds: Double) {
        timer?.cancel()
        timer = EventLoop.shared.schedule(afterSeconds: seconds) { [weak self] in self?.end(.expired) }
    }

    /// Sends what the session has to say, writes the book when it is time, and tells what has changed.
    private func advance() {
        guard session != nil else { return }
        if session?.state == .waiting, role == .responder { startTimer(NodeLimits.pairingAskSeconds) }
        if case .comparing? = session?.state, role == .initiator { startTimer(NodeLimits.pairingCompareSeconds) }
        flush()
        if session?.state == .agreed, peer == nil {
            do {
                peer = try manager.store(self)
                session?.stored()
            } catch {
                self.error = error
                session?.fail(.failed)
            }
            flush()
        }
        if isOver { finish() }
        changed()
    }

    private func flush() {
        guard let bytes = session?.takeOutput(), !bytes.isEmpty else { return }
        connection?.write(bytes)
    }

    private func changed() {
        version += 1
        manager.changed(self)
    }
}
