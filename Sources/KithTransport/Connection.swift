import CLinux
import Glibc
import KithDocuments

/// A stream to one peer: TCP or a Unix socket, with or without TLS.
///
/// ```swift
/// let connection = Connection.dial(address, tls: context)
/// connection.onReady = { info in connection.write(greeting) }
/// connection.onReceive = { bytes in parser.receive(bytes) }
/// connection.onClose = { error in … }
/// ```
///
/// Guarantees:
/// - Nothing is called back from within a call to the connection: calls only note what is wanted, and the loop does it
///   before it sleeps. So each callback may call everything, `close` and `abort` included.
/// - `onClose` is called exactly once, last; then all callbacks are dropped. Until then the loop keeps the connection
///   alive, whoever else holds it or not.
/// - Bytes arrive in order, each once. Nothing is read while `onReceive` is `nil` or reading is paused: the kernel's
///   buffers fill up and the peer has to wait. (Up to 128 KiB that were already taken from the kernel wait with it.)
/// - With TLS, nothing is delivered before the peer's certificate was accepted and its key proved, or the peer has none
///   and the context takes that.
///
/// A connection does not reconnect, has no time-out for silence once it is ready, and does not limit what is written:
/// who writes looks at `bufferedByteCount` and waits for `onDrained`.
@LoopActor
public final class Connection: DescriptorHandler, TurnHandler {
    enum Phase { case resolving, connecting, handshaking, open, closing, draining, closed }

    /// Called once when data can flow: after the handshake, where there is one.
    public var onReady: ((ConnectionInfo) -> Void)?
    /// Called with what has arrived; the bytes are valid during the call only.
    public var onReceive: ((UnsafeRawBufferPointer) -> Void)? {
        didSet { if onReceive != nil { wantTurn() } }
    }
    /// Called once when the peer has cleanly ended its direction. The other direction still works until `close()`.
    /// Without this callback the connection then closes itself as by `close()`.
    public var onEnd: (() -> Void)?
    /// Called when the bytes that wait to be sent have fallen below the low watermark after having reached it.
    public var onDrained: (() -> Void)?
    /// Called once, last: with `nil` after a clean end, else with what went wrong. See `KithError` codes
    /// `.connectionLost`, `.timedOut`, `.tlsFailed`, `.notTrusted` (the peer refuses this node, or this node's verify
    /// closure refused the peer with that), `.wrongKey` and `.closed` (aborted by this side).
    public var onClose: ((KithError?) -> Void)?

    /// What is known about the connection once it is ready.
    public internal(set) var info: ConnectionInfo?
    /// The certificate the peer has shown, also when it was refused.
    public internal(set) var shownCertificate: PeerCertificate?
    /// The peer's address for logs, from the beginning.
    public internal(set) var remoteName: String

    let options: ConnectionOptions
    var phase: Phase
    var output = OutputBuffer()
    var socket: StreamSocket?
    var tls: TLSSession?
    var dialling: Dialling?
    /// Called when the file descriptor is closed, which can be after `onClose`: the listener counts.
    var onDescriptorClosed: (() -> Void)?

    var isPaused = false
    var isQueued = false
    var isAboveLowWatermark = false
    var hasReceivedEnd = false
    var hasReported = false
    var abortError: KithError?
    var timer: LoopTimer?
    private let tlsContext: TLSContext?
    private let tlsVerify: TLSVerify?

    init(
        remoteName: String, phase: Phase, tls: TLSContext?, verify: TLSVerify?, options: ConnectionOptions
    ) {
        self.remoteName = remoteName
        self.phase = phase
        self.tlsContext = tls
        self.tlsVerify = verify
        self.options = options
    }

    // MARK: Writing

    /// Bytes written that the kernel has not taken yet.
    public var bufferedByteCount: Int { output.count + (socket?.unsentByteCount ?? 0) }

    /// Whether data can flow: the connection is ready and not closing.
    public var isOpen: Bool { phase == .open && abortError == nil }

    /// Queues bytes; all that is written in one turn of the loop leaves together. Before the connection is ready they
    /// wait; after `close()` or the end they are dropped.
    public func write(_ bytes: [UInt8]) {
        guard mayWrite, !bytes.isEmpty else { return }
        output.append(bytes)
        didAppend()
    }

    /// Queues a copy of the bytes, as the other `write` does.
    public func write(_ bytes: UnsafeRawBufferPointer) {
        guard mayWrite, !bytes.isEmpty else { return }
        output.append(bytes)
        didAppend()
    }

    /// Queues what `write` appends to the bytes that wait, so that it is not copied. It must not use the connection.
    public func write(appending write: (inout [UInt8]) -> Void) {
        guard mayWrite else { return }
        output.append(writing: write)
        didAppend()
    }

    private var mayWrite: Bool {
        switch phase {
        case .resolving, .connecting, .handshaking, .open: abortError == nil
        case .closing, .draining, .closed: false
        }
    }

    private func didAppend() {
        if bufferedByteCount >= options.lowWatermarkBytes { isAboveLowWatermark = true }
        if phase == .open { wantTurn() }
    }

    // MARK: Reading

    /// Stops reading: no `onReceive` from here on, also not for what is already in this side's buffers. Meanwhile the
    /// end of the peer is noticed only by writing, or by a reset.
    public func pauseReading() { isPaused = true }

    /// Reads again.
    public func resumeReading() {
        guard isPaused else { return }
        isPaused = false
        wantTurn()
    }

    // MARK: Ending

    /// Sends what waits, then the end (close_notify and FIN), then waits for the peer's end; what still arrives is
    /// dropped. Gives up when the peer makes no progress for `lingerSeconds`: with an error if something was not sent.
    /// On a connection that is not ready yet it is `abort()`.
    public func close() {
        switch phase {
        case .resolving, .connecting, .handshaking: abort()
        case .open:
            phase = .closing
            restartLinger()
            wantTurn()
        case .closing, .draining, .closed: break
        }
    }

    /// Ends the connection before the loop sleeps again, without sending what waits; the peer sees a broken
    /// connection. `onClose` gets the error, `.closed` by default.
    public func abort(_ error: KithError? = nil) {
        guard phase != .closed, abortError == nil else { return }
        abortError = error ?? KithError(.closed, "The connection with \(remoteName) was closed by this node")
        wantTurn()
    }

    /// Bytes that only the two ends of this TLS session can derive (RFC 8446, section 7.5), or `nil` without TLS.
    public func exportKeyingMaterial(label: String, context: [UInt8], count: Int) -> [UInt8]? {
        tls?.exportKeyingMaterial(label: label, context: context, count: count)
    }

    // MARK: Within the loop

    func handleEvents(_ events: UInt32) {
        socket?.note(events)
        wantTurn()
    }

    func wantTurn() {
        guard !isQueued, phase != .closed else { return }
        isQueued = true
        EventLoop.shared.enqueueTurn(self)
    }

    func wantNextTurn() {
        guard !isQueued, phase != .closed else { return }
        isQueued = true
        EventLoop.shared.enqueueNextTurn(self)
    }

    func runTurn() {
        isQueued = false
        if phase == .closed { return }
        if let abortError { return finish(abortError) }
        if phase == .resolving { tryNextCandidate() }
        if phase == .connecting { advanceConnect() }
        if phase == .handshaking { advanceHandshake() }
        if phase == .open || phase == .closing { receiveSome() }
        if phase == .open || phase == .closing { sendSome() }
        if phase == .closing, bufferedByteCount == 0 { sendEnd() }
        if phase == .draining { drain() }
        // A callback may have aborted the connection meanwhile; then a new turn is queued.
    }

    /// Takes a connected socket over: options, watch, then the handshake or readiness.
    func begin(_ socket: StreamSocket, isTCP: Bool) {
        self.socket = socket
        socket.spares = EventLoop.shared.spareBuffers
        dialling = nil
        if isTCP { setTCPOptions(socket) }
        guard let tlsContext else { return becomeReady() }
        do {
            tls = try TLSSession(context: tlsContext, verify: tlsVerify, socket: socket, remoteName: remoteName)
        } catch {
            return finish(error)
        }
        phase = .handshaking
        timer?.cancel()
        timer = EventLoop.shared.schedule(afterSeconds: options.handshakeSeconds) { [unowned self] in
            finish(
                KithError(
                    .timedOut,
                    "\(remoteName) did not finish the TLS handshake within \(options.handshakeSeconds) seconds"))
        }
        wantTurn()
    }

    private func setTCPOptions(_ socket: StreamSocket) {
        socket.setOption(Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        socket.setOption(SOL_SOCKET, SO_KEEPALIVE, 1)
        socket.setOption(Int32(IPPROTO_TCP), TCP_KEEPIDLE, TransportLimits.keepAliveIdleSeconds)
        socket.setOption(Int32(IPPROTO_TCP), TCP_KEEPINTVL, TransportLimits.keepAliveIntervalSeconds)
        socket.setOption(Int32(IPPROTO_TCP), TCP_KEEPCNT, TransportLimits.keepAliveProbesMax)
        let timeout = Int32(max(0, min(options.userTimeoutSeconds, 86_400)) * 1000)
        socket.setOption(Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, timeout)
    }

    private func advanceHandshake() {
        guard let tls, let socket else { return }
        let step = tls.handshake()
        socket.compactUnread()
        shownCertificate = tls.peer
        switch step {
        case .done: becomeReady()
        case .wouldBlock:
            if socket.writeErrno != 0, !socket.isReadable {
                finish(connectionError(socket.writeErrno, remoteName: remoteName))
            }
        case .failed(let error):
            // The alert is on its way: closing at once could make the kernel throw it away at the other end.
            report(error)
            socket.endWriting()
            phase = .draining
            timer?.cancel()
            timer = EventLoop.shared.schedule(afterSeconds: TransportLimits.refusalLingerSecondsMax) { [unowned self] in
                finish(nil)
            }
        }
    }

    private func becomeReady() {
        guard let socket else { return }
        timer?.cancel()
        timer = nil
        phase = .open
        let remote = SocketAddress.of(socket.descriptor.number, peer: true)
        let info = ConnectionInfo(
            remoteName: remoteName, remoteAddress: remote,
            localAddress: SocketAddress.of(socket.descriptor.number, peer: false),
            peer: tls?.peer, tlsVersion: tls?.versionName, tlsSuite: tls?.suiteName,
            applicationProtocol: tls?.applicationProtocol,
            peerUserID: remote == nil ? Self.peerUser(socket.descriptor.number) : nil)
        self.info = info
        let callback = onReady
        onReady = nil
        wantTurn()
        callback?(info)
    }

    private static func peerUser(_ descriptor: Int32) -> UInt32? {
        var user: uid_t = 0
        return kith_peer_user(descriptor, &user) == 0 ? user : nil
    }

    /// Tells the end, once.
    func report(_ error: KithError?) {
        guard !hasReported else { return }
        hasReported = true
        let callback = onClose
        onReady = nil
        onReceive = nil
        onEnd = nil
        onDrained = nil
        onClose = nil
        callback?(error)
    }

    /// Closes the socket and tells the end, if it was not told yet.
    func finish(_ error: KithError?) {
        guard phase != .closed else { return }
        phase = .closed
        timer?.cancel()
        timer = nil
        dialling = nil
        tls = nil
        if let socket {
            EventLoop.shared.unwatch(socket.descriptor.number)
            socket.descriptor.close()
        }
        socket = nil
        output = OutputBuffer()
        let closed = onDescriptorClosed
        onDescriptorClosed = nil
        report(error)
        closed?()
    }
}
