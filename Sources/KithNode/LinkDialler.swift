import KithDocuments
import KithTransport
import KithTrust
import KithWire

/// One attempt to open a link: tries the peer's addresses one after the other, checks who answers, and asks for the
/// upgrade to a WebSocket.
@LoopActor
final class LinkDialler {
    /// What came of it.
    enum Outcome {
        /// The peer has taken the link.
        case connected(Opened)
        /// Nothing came of it. Quiet: expected in ordinary life, not worth a line.
        case failed(KithError, isQuiet: Bool)
    }

    /// A connection whose upgrade is done.
    struct Opened {
        var connection: Connection
        var address: SocketAddress
        var tlsVersion: String
        var remainder: [UInt8]
        var peerIsKith: Bool
    }

    private let peer: NodeID
    private let database: DatabaseName
    private let isOneShot: Bool
    private var addresses: ArraySlice<SocketAddress>
    private let client: TLSContext
    private var onOutcome: ((Outcome) -> Void)?
    /// Called when another trusted node answered at an address; the next is tried all the same.
    var onOther: ((NodeID, SocketAddress) -> Void)?
    /// Called with true when an address has answered with the right key, so that the link is about to be, and with false when
    /// nothing came of that and the next is tried.
    var onAnswered: ((Bool) -> Void)?
    /// Called when the node at an address is not trusted here, or does not trust this node: what it has shown, and where.
    var onUntrusted: ((PeerCertificate?, SocketAddress) -> Void)?
    private let startedNanoseconds = EventLoop.monotonicNanoseconds
    private var connection: Connection?
    private var address: SocketAddress?
    private var timer: LoopTimer?
    private var parser = HTTPResponseParser()
    private var head: HTTPResponseHead?
    private var failures: [KithError] = []

    init(
        peer: NodeID, database: DatabaseName, isOneShot: Bool = false, addresses: [SocketAddress], client: TLSContext,
        onOutcome: @escaping (Outcome) -> Void
    ) {
        self.peer = peer
        self.database = database
        self.isOneShot = isOneShot
        self.addresses = addresses[...]
        self.client = client
        self.onOutcome = onOutcome
    }

    func start() { tryNext() }

    /// Gives up without an outcome.
    func cancel() {
        onOutcome = nil
        onAnswered = nil
        onUntrusted = nil
        drop()
    }

    private func drop() {
        timer?.cancel()
        timer = nil
        connection?.onReceive = nil
        connection?.onClose = nil
        connection?.onReady = nil
        connection?.abort()
        connection = nil
    }

    private func report(_ outcome: Outcome) {
        timer?.cancel()
        timer = nil
        let onOutcome = onOutcome
        self.onOutcome = nil
        onOutcome?(outcome)
    }

    private func tryNext() {
        guard onOutcome != nil else { return }
        let isLate = Double(EventLoop.monotonicNanoseconds - startedNanoseconds) / 1e9 >= NodeLimits.dialSecondsMax
        guard !isLate || failures.isEmpty, let address = addresses.popFirst() else {
            // What a person can act on says more than that some address was silent.
            let telling = failures.first { $0.code != .connectionLost && $0.code != .timedOut } ?? failures.last
            return report(.failed(telling ?? KithError(.connectionLost, "no address answers"), isQuiet: false))
        }
        parser = HTTPResponseParser()
        head = nil
        onAnswered?(false)
        var options = ConnectionOptions()
        options.connectSeconds = NodeLimits.connectSecondsMax
        let connection = Connection.dial(address, tls: client, options: options)
        self.connection = connection
        self.address = address
        connection.onReady = { [weak self] info in self?.ready(address, info) }
        connection.onClose = { [weak self] error in
            self?.failed(error ?? KithError(.connectionLost, "\(address) closed the connection"))
        }
        timer = EventLoop.shared.schedule(afterSeconds: NodeLimits.upgradeSecondsMax) { [weak self] in
            self?.failed(KithError(.timedOut, "\(address) did not answer in \(Int(NodeLimits.upgradeSecondsMax)) s"))
        }
    }

    private func failed(_ error: KithError) {
        if error.code == .notTrusted || error.code == .wrongKey, let address {
            onUntrusted?(connection?.shownCertificate, address)
        }
        failures.append(error)
        drop()
        tryNext()
    }

    private func ready(_ address: SocketAddress, _ info: ConnectionInfo) {
        guard let hash = info.peer?.publicKeyHash else {
            return failed(KithError(.notTrusted, "\(address) showed no certificate"))
        }
        let id = NodeID(subjectPublicKeyHash: hash)
        guard id == peer else {
            onOther?(id, address)
            return failed(KithError(.connectionLost, "another node answers at \(address)"))
        }
        onAnswered?(true)
        guard let target = HTTPTarget("/" + PercentEncoding.text(database.text) + "/_blipsync") else {
            return failed(KithError(.internal, "the database's name makes no request target"))
        }
        let key = WebSocketHandshake.makeKey()
        connection?.onReceive = { [weak self] bytes in self?.receive(bytes, address, info, key) }
        let head = WebSocketHandshake.request(
            host: address.description, target: target, key: key, subprotocols: [BLIPSubprotocol.token],
            extraHeaders: isOneShot
                ? [KithHeader.name: KithHeader.value, KithHeader.oneShotName: KithHeader.value]
                : [KithHeader.name: KithHeader.value])
        var bytes: [UInt8] = []
        head.append(to: &bytes)
        connection?.write(bytes)
    }

    private func receive(
        _ bytes: UnsafeRawBufferPointer, _ address: SocketAddress, _ info: ConnectionInfo, _ key: String
    ) {
        parser.receive(bytes)
        do {
            while let event = try parser.nextEvent() {
                if case .head(let answer) = event {
                    guard answer.status == 101 else { return refused(answer, address) }
                    _ = try WebSocketHandshake.checkResponse(answer, key: key, offered: [BLIPSubprotocol.token])
                    head = answer
                }
                guard case .end = event, let head else { continue }
                guard let connection else { return }
                connection.onReceive = nil
                connection.onClose = nil
                connection.onReady = nil
                self.connection = nil
                return report(
                    .connected(
                        Opened(
                            connection: connection, address: address, tlsVersion: info.tlsVersion ?? "TLS",
                            remainder: parser.takeRemainder(), peerIsKith: head.headers[KithHeader.name] != nil)))
            }
        } catch {
            failed(KithError(.protocolViolation, "\(address) answered something else than an upgrade: \(error)"))
        }
    }

    private func refused(_ head: HTTPResponseHead, _ address: SocketAddress) {
        // A node that serves REST to users lets the handshake of an unknown key end well.
        if head.status == 401 {
            return failed(
                KithError(
                    .notTrusted, "\(address) does not trust this node", remedy: "Pair the two nodes, on both sides"))
        }
        drop()
        switch head.status {
        case 404:
            report(.failed(KithError(.databaseNotFound, "the peer has no database \"\(database)\""), isQuiet: false))
        case 403:
            report(
                .failed(
                    KithError(.forbidden, "the peer replicates \"\(database)\" on demand only"), isQuiet: true))
        case 503:
            report(
                .failed(
                    KithError(
                        .busy,
                        "the peer cannot serve \"\(database)\" now: it cannot open it, or has too many links of this kind",
                        remedy: "There: kith status"), isQuiet: isOneShot))
        case 409:
            report(.failed(KithError(.conflict, "the peer says that there is a link already"), isQuiet: true))
        default:
            report(
                .failed(
                    KithError(.connectionLost, "\(address) refused the link with status \(head.status)"), isQuiet: false
                ))
        }
    }
}
