import KithDocuments
import KithTransport
import KithTrust

/// The exchange of an invitation code with one other machine: its connection and its time.
@LoopActor
final class InvitationLink {
    /// Who this node is in the exchange.
    struct Own {
        var id: NodeID
        var name: String
        var secret: InvitationSecret
    }

    /// Where the other machine is.
    private(set) var address: String
    /// The address that was dialled, by the side that was invited.
    private(set) var dialled: SocketAddress?
    private(set) var session: InvitationSession?
    /// Why it failed, where the state of the session does not say it.
    private(set) var error: KithError?
    /// Called when the state has changed. What is to be sent because of it can be said within the call.
    var onChange: ((InvitationLink) -> Void)?
    private let own: Own
    private let tls: TLSContext?
    private let expectedShortID: String?
    private var candidates: ArraySlice<SocketAddress>
    private var connection: Connection?
    private var timer: LoopTimer?

    /// A machine that has dialled.
    init(accepted connection: Connection, info: ConnectionInfo, own: Own) {
        self.own = own
        tls = nil
        address = info.remoteName
        expectedShortID = nil
        candidates = []
        take(connection)
        do throws(KithError) { try begin(info, .host) } catch { fail(error) }
    }

    /// A machine that may have invited this one.
    ///
    /// - Parameters:
    ///   - addresses: where it may be, best first; one after the other is tried.
    ///   - shortID: who was announced there, if that is known.
    init(dialling addresses: [SocketAddress], expecting shortID: String?, tls: TLSContext, own: Own) {
        self.own = own
        self.tls = tls
        address = addresses.first?.description ?? ""
        expectedShortID = shortID
        candidates = addresses[...]
    }

    /// Whether the other machine has not yet proved anything.
    var isUnheeded: Bool {
        switch session?.state {
        case .opening, .proving: true
        default: false
        }
    }

    /// Whether nothing more happens.
    var isOver: Bool { session.map(\.state.isOver) ?? (error != nil && connection == nil && candidates.isEmpty) }

    func start() {
        startTimer(NodeLimits.dialSecondsMax)
        tryNext()
    }

    func prove() { change { $0.prove() } }
    func offer(_ terms: JSONValue) { change { $0.offer(terms) } }
    func refuse(triesLeft: Int) { change { $0.refuse(triesLeft: triesLeft) } }
    func stored() { change { $0.stored() } }

    /// Ends it, unless it is over.
    func end(_ reason: InvitationEnd) {
        guard !isOver else { return }
        guard session != nil else {
            return fail(
                reason == .expired
                    ? KithError(.timedOut, "\(address) did not answer in time")
                    : KithError(.closed, "the exchange was given up"))
        }
        change { $0.fail(reason) }
    }

    // MARK: The connection

    private func tryNext() {
        guard let tls, let next = candidates.popFirst() else {
            return fail(error ?? KithError(.connectionLost, "no address of the other machine answers"))
        }
        address = next.description
        dialled = next
        var options = ConnectionOptions()
        options.connectSeconds = NodeLimits.connectSecondsMax
        let connection = Connection.dial(next, tls: tls, options: options)
        take(connection)
        connection.onReady = { [weak self] info in
            guard let self else { return }
            do throws(KithError) {
                try begin(info, .guest)
                error = nil
                flush()
            } catch {
                passOver(error)
            }
        }
    }

    private func passOver(_ error: KithError) {
        self.error = error
        drop()
        tryNext()
    }

    private func take(_ connection: Connection) {
        self.connection = connection
        connection.onReceive = { [weak self] bytes in self?.change { $0.receive(bytes) } }
        connection.onClose = { [weak self] error in
            guard let self else { return }
            guard session != nil else {
                return passOver(error ?? KithError(.connectionLost, "\(address) closed the connection"))
            }
            self.connection = nil
            change { $0.connectionLost() }
        }
    }

    private func begin(_ info: ConnectionInfo, _ role: InvitationSession.Role) throws(KithError) {
        guard info.tlsVersion == "TLSv1.3", let hash = info.peer?.publicKeyHash,
            let exporter = connection?.exportKeyingMaterial(
                label: InvitationSession.exporterLabel, context: [], count: InvitationSession.exporterByteCount)
        else { throw KithError(.tlsFailed, "\(address) does not speak TLS as pairing needs it") }
        let id = NodeID(subjectPublicKeyHash: hash)
        guard id != own.id else { throw KithError(.badRequest, "that is this node itself") }
        if let expectedShortID, id.short != expectedShortID {
            throw KithError(.wrongKey, "\(address) is \(id.short), and not \(expectedShortID) as was announced")
        }
        address = info.remoteName
        session = try InvitationSession(
            role: role, secret: own.secret, ownID: own.id, ownName: own.name, peerID: id, exporter: exporter,
            random: try PairingSession.freshNonce())
        // Who dials and says nothing keeps its place for less long.
        startTimer(role == .host ? NodeLimits.pairingOpenSeconds : NodeLimits.invitationExchangeSeconds)
    }

    private func fail(_ error: KithError) {
        self.error = error
        session = nil
        finish()
        onChange?(self)
    }

    private func drop() {
        connection?.leave()
        connection = nil
    }

    private func finish() {
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

    private func change(_ body: (inout InvitationSession) -> Void) {
        guard var next = session else { return }
        let before = next.state
        body(&next)
        session = next
        flush()
        guard next.state != before else { return }
        if case .opening = before { startTimer(NodeLimits.invitationExchangeSeconds) }
        // Whoever listens may send more, also after the end: how many tries are left.
        onChange?(self)
        if isOver { finish() }
    }

    private func flush() {
        guard let bytes = session?.takeOutput(), !bytes.isEmpty else { return }
        connection?.write(bytes)
    }
}
