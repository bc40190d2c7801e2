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
    /// When it began, in seconds since 1970.
    let beganSeconds = WallClock.seconds
    /// When it was over, in seconds since 1970.
    private(set) var endedSeconds: Int64?
    private(set) var session: PairingSession?
    /// The address that was dialled, by the side that asks.
    private(set) var dialled: SocketAddress?
    /// Whether a person could see a number: an end after that, without an answer, is a sign that somebody was in between.
    private(set) var hasShownNumber = false
    /// The short ID that discovery has promised at the addresses; an answer of another machine is passed over.
    private let expectedShortID: String?
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
        expectedShortID = nil
        take(connection)
        do throws(KithError) {
            try begin(connection, info)
            startTimer(manager.times.openSeconds)
        } catch {
            fail(error)
        }
    }

    /// A machine that is asked: its addresses are tried one after the other.
    init(number: Int, asking candidates: [SocketAddress], expecting shortID: String?, manager: PairingManager) {
        self.number = number
        self.manager = manager
        role = .initiator
        address = candidates.first?.description ?? ""
        expectedShortID = shortID
        self.candidates = candidates[...]
    }

    /// The state, in one word, as REST tells it.
    var stateName: String {
        guard let session else { return error == nil || connection != nil ? "connecting" : "failed" }
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
    var isOver: Bool { session.map(\.state.isOver) ?? (error != nil && connection == nil && candidates.isEmpty) }

    /// Whether the person at this machine is asked to accept it.
    var awaitsAcceptance: Bool { role == .responder && session?.state == .waiting }

    /// Whether it may give way to another request: no person has had to do with it yet.
    var isUnheeded: Bool { role == .responder && (session?.state == .opening || session?.state == .waiting) }

    // MARK: The person at this machine

    func start() {
        startTimer(NodeLimits.dialSecondsMax)
        tryNext()
    }

    /// Accepts the request of the other machine.
    func accept() {
        change { $0.accept() }
    }

    /// What the person says of the two numbers.
    func answer(same: Bool) {
        change { $0.answer(same: same) }
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
        change { $0.fail(reason) }
    }

    // MARK: The connection

    private func tryNext() {
        guard let next = candidates.popFirst() else {
            return fail(error ?? KithError(.connectionLost, "no address of the other machine answers"))
        }
        address = next.description
        dialled = next
        var options = ConnectionOptions()
        options.connectSeconds = NodeLimits.connectSecondsMax
        let connection = Connection.dial(next, tls: manager.client, options: options)
        take(connection)
        connection.onReady = { [weak self, unowned connection] info in
            guard let self else { return }
            do throws(KithError) {
                try begin(connection, info)
                error = nil
                startTimer(manager.times.askSeconds)
                flush()
                changed()
            } catch {
                passOver(error)
            }
        }
    }

    /// What answers at this address is not the machine that is meant: the next one is tried.
    private func passOver(_ error: KithError) {
        self.error = error
        drop()
        tryNext()
    }

    private func take(_ connection: Connection) {
        self.connection = connection
        connection.onReceive = { [weak self] bytes in self?.change { $0.receive(bytes) } }
        connection.onClose = { [weak self] in self?.closed($0) }
    }

    private func begin(_ connection: Connection, _ info: ConnectionInfo) throws(KithError) {
        guard info.tlsVersion == "TLSv1.3", let hash = info.peer?.publicKeyHash,
            let exporter = connection.exportKeyingMaterial(
                label: PairingSession.exporterLabel, context: [], count: PairingSession.nonceByteCount)
        else { throw KithError(.tlsFailed, "\(address) does not speak TLS as pairing needs it") }
        let id = NodeID(subjectPublicKeyHash: hash)
        guard id != manager.ownID else { throw KithError(.badRequest, "that is this node itself") }
        if let expectedShortID, id.short != expectedShortID {
            throw KithError(.wrongKey, "\(address) is \(id.short), and not \(expectedShortID) as was announced")
        }
        address = info.remoteName
        session = PairingSession(
            role: role, ownID: manager.ownID, ownName: manager.ownName, peerID: id, exporter: exporter,
            nonce: try PairingSession.freshNonce())
    }

    private func closed(_ error: KithError?) {
        guard session != nil else {
            var reason = error ?? KithError(.connectionLost, "\(address) closed the connection")
            if reason.code == .protocolViolation || reason.code == .notTrusted {
                reason = KithError(
                    reason.code, "\(address) does not pair by a number",
                    remedy: "Its version of Kith may be older: use kith trust on both machines", cause: reason)
            }
            return passOver(reason)
        }
        connection = nil
        change { $0.connectionLost() }
    }

    private func fail(_ error: KithError) {
        self.error = error
        session = nil
        candidates = []
        finish()
        changed()
    }

    private func drop() {
        connection?.leave()
        connection = nil
    }

    private func finish() {
        endedSeconds = endedSeconds ?? WallClock.seconds
        timer?.cancel()
        timer = nil
        candidates = []
        drop()
    }

    private func startTimer(_ seconds: Double) {
        timer?.cancel()
        timer = EventLoop.shared.schedule(afterSeconds: seconds) { [weak self] in self?.end(.expired) }
    }

    // MARK: The session

    /// Lets something happen to the session, and does what follows from it. Bytes that change nothing, such as a piece of
    /// a message, move no timer and tell nobody.
    private func change(_ body: (inout PairingSession) -> Void) {
        guard var next = session else { return }
        let before = next.state
        body(&next)
        session = next
        guard next.state != before else { return }
        switch next.state {
        case .waiting: startTimer(manager.times.askSeconds)
        case .exchanging: startTimer(manager.times.compareSeconds)
        case .comparing:
            hasShownNumber = true
            if role == .initiator { startTimer(manager.times.compareSeconds) }
        default: break
        }
        flush()
        if next.state == .agreed {
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
