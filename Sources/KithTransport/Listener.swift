import CLinux
import Glibc
import KithDocuments

/// Accepts connections on a TCP port or a Unix socket until it is closed.
///
/// Guarantees:
/// - `onConnection` gets connections that are ready (after the handshake), each once; set their callbacks in it.
/// - Out of file descriptors or memory, it waits a moment and tries again, without spinning; it says so once.
/// - It is kept alive by the loop until `close()`, which leaves its connections alone.
@LoopActor
public final class Listener: DescriptorHandler, TurnHandler {
    /// Where it listens, with the port it got; `nil` on a Unix socket.
    public let localAddress: SocketAddress?
    /// Called with each connection that did not become ready. Whoever logs sums them up: strangers can make many.
    public var onRefused: ((RefusedConnection) -> Void)?
    /// Called when accepting stops for want of files or memory, once until it works again.
    public var onTrouble: ((KithError) -> Void)?
    /// Connections that are open now, those in the handshake included.
    public private(set) var connectionCount = 0
    /// Connections that are in the handshake now.
    public var handshakeCount: Int { handshaking.count }

    private let descriptor: OwnedDescriptor
    /// The settings of TLS for connections that come from now on.
    public var tls: TLSContext?
    private let options: ListenerOptions
    private let onConnection: (Connection) -> Void
    private let socketFile: UnixSocketFile?
    /// In the order in which they were accepted.
    private var handshaking: [Connection] = []
    private var isQueued = false
    private var isReadable = false
    private var isInTrouble = false
    private var pause: LoopTimer?
    private var isClosed = false

    init(
        _ descriptor: OwnedDescriptor, localAddress: SocketAddress?, socketFile: UnixSocketFile?, tls: TLSContext?,
        options: ListenerOptions, onConnection: @escaping (Connection) -> Void
    ) throws(KithError) {
        self.descriptor = descriptor
        self.localAddress = localAddress
        self.socketFile = socketFile
        self.tls = tls
        self.options = options
        self.onConnection = onConnection
        try EventLoop.shared.watch(descriptor.number, self)
    }

    /// Listens on a TCP address. `SocketAddress.anyHost` takes IPv4 and IPv6; port 0 takes a free one.
    ///
    /// - Throws: `.portBusy` when another program has the port, `.badConfiguration` when this machine has no such
    ///   address or the user may not take the port.
    public static func tcp(
        _ address: SocketAddress, tls: TLSContext? = nil, options: ListenerOptions = .init(),
        onConnection: @escaping (Connection) -> Void
    ) throws(KithError) -> Listener {
        var address = address
        var descriptor = tcpSocket(address.family)
        if descriptor.number < 0, errno == EAFNOSUPPORT, address == .anyHost(port: address.port) {
            // A machine without IPv6.
            address = SocketAddress(hostValue: .ipv4([0, 0, 0, 0]), port: address.port)
            descriptor = tcpSocket(AF_INET)
        }
        guard descriptor.number >= 0 else {
            throw KithError(.inputOutput, "No socket to listen on \(address): \(errorText(errno))")
        }
        let socket = StreamSocket(descriptor)
        socket.setOption(SOL_SOCKET, SO_REUSEADDR, 1)
        if address.family == AF_INET6 { socket.setOption(Int32(IPPROTO_IPV6), IPV6_V6ONLY, 0) }
        // Accepted sockets inherit the sizes.
        socket.setKernelBuffers(options.connection.kernelBufferBytes)
        let result = try address.withSockaddr { pointer, length in
            if bind(descriptor.number, pointer, length) != 0 { return errno }
            return listen(descriptor.number, TransportLimits.backlogMax) == 0 ? 0 : errno
        }
        guard result == 0 else { throw listenError(result, address) }
        return try Listener(
            descriptor, localAddress: SocketAddress.of(descriptor.number, peer: false), socketFile: nil, tls: tls,
            options: options, onConnection: onConnection)
    }

    /// Listens on a Unix socket, which only this user can reach, from its first moment. The folder must be there and
    /// must not be writable by others. A socket left behind by a dead process is replaced.
    ///
    /// - Throws: `.alreadyRunning` when somebody listens there, `.badConfiguration` when something else has that name
    ///   or others may write to the folder, `.homeNotWritable` when the socket cannot be made.
    public static func unix(
        _ address: UnixSocketAddress, options: ListenerOptions = .init(), onConnection: @escaping (Connection) -> Void
    ) throws(KithError) -> Listener {
        let (descriptor, file) = try UnixSocketFile.listen(address)
        return try Listener(
            descriptor, localAddress: nil, socketFile: file, tls: nil, options: options, onConnection: onConnection)
    }

    /// Stops accepting and frees the port; a Unix socket's file is removed if it is still this listener's. Connections
    /// that are ready stay, those in the handshake are cut off.
    public func close() {
        guard !isClosed else { return }
        isClosed = true
        pause?.cancel()
        EventLoop.shared.unwatch(descriptor.number)
        socketFile?.remove()
        descriptor.close()
        for connection in handshaking { connection.abort() }
        onRefused = nil
        onTrouble = nil
    }

    private static func tcpSocket(_ family: Int32) -> OwnedDescriptor {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        return OwnedDescriptor(Glibc.socket(family, type, 0))
    }

    private static func listenError(_ number: Int32, _ address: SocketAddress) -> KithError {
        switch number {
        case EADDRINUSE:
            KithError(
                .portBusy, "Port \(address.port) is taken by another program (\(address))",
                remedy: "Stop that program, or give this node another port")
        case EACCES:
            KithError(
                .badConfiguration, "This user may not listen on port \(address.port)",
                remedy: "Choose a port from 1024 on")
        case EADDRNOTAVAIL:
            KithError(.badConfiguration, "This machine does not have the address \(address)")
        default: KithError(.inputOutput, "Listening on \(address) failed: \(errorText(number))")
        }
    }

    // MARK: Within the loop

    func handleEvents(_ events: UInt32) {
        isReadable = true
        wantTurn()
    }

    private func wantTurn() {
        guard !isQueued, !isClosed else { return }
        isQueued = true
        EventLoop.shared.enqueueTurn(self)
    }

    func runTurn() {
        isQueued = false
        guard !isClosed, pause == nil else { return }
        var budget = TransportLimits.acceptsPerTurnMax
        while isReadable, !isClosed, connectionCount < options.connectionsMax {
            if budget == 0 {
                isQueued = true
                return EventLoop.shared.enqueueNextTurn(self)
            }
            budget -= 1
            acceptOne()
            if pause != nil { return }
        }
    }

    private func acceptOne() {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let flags = Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let (number, remote) = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                let number = accept4(descriptor.number, address, &length, flags)
                return (number, number >= 0 ? SocketAddress(address, length: length) : nil)
            }
        }
        guard number >= 0 else { return acceptFailed(errno) }
        isInTrouble = false
        let socket = StreamSocket(OwnedDescriptor(number))
        socket.isWritable = true
        let connection = Connection(
            remoteName: remote?.description ?? "a local program", phase: .handshaking, tls: tls, verify: nil,
            options: options.connection)
        do {
            try EventLoop.shared.watch(number, connection)
        } catch {
            return rest(error)
        }
        connectionCount += 1
        connection.onDescriptorClosed = { [weak self] in self?.connectionEnded() }
        if handshaking.count >= options.handshakesMax, let oldest = handshaking.first {
            handshaking.removeFirst()
            oldest.abort(
                KithError(.timedOut, "\(oldest.remoteName) was slow in the handshake while too many others came"))
        }
        handshaking.append(connection)
        connection.onReady = { [weak self, unowned connection] _ in self?.ready(connection) }
        connection.onClose = { [weak self, unowned connection] error in self?.refused(connection, error) }
        connection.begin(socket, isTCP: remote != nil)
    }

    private func ready(_ connection: Connection) {
        handshaking.removeAll { $0 === connection }
        connection.onClose = nil
        onConnection(connection)
    }

    private func refused(_ connection: Connection, _ error: KithError?) {
        handshaking.removeAll { $0 === connection }
        guard let error else { return }
        onRefused?(
            RefusedConnection(error: error, remoteName: connection.remoteName, certificate: connection.shownCertificate)
        )
    }

    private func connectionEnded() {
        connectionCount -= 1
        if isReadable { wantTurn() }
    }

    private func acceptFailed(_ number: Int32) {
        switch number {
        case EAGAIN: isReadable = false
        // The peer has gone before it was accepted, or a signal came: the next one may be there (accept(2)).
        case ECONNABORTED, EINTR, EPROTO, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, EHOSTUNREACH, EOPNOTSUPP, ENETUNREACH: break
        default:
            rest(
                KithError(
                    .inputOutput, "No connection can be accepted: \(errorText(number))",
                    remedy: number == EMFILE || number == ENFILE
                        ? "Allow more open files (ulimit -n, LimitNOFILE)" : nil))
        }
    }

    /// Tries again later; the peers wait in the kernel meanwhile.
    private func rest(_ error: KithError) {
        pause = EventLoop.shared.schedule(afterSeconds: TransportLimits.acceptPauseSeconds) { [weak self] in
            self?.pause = nil
            self?.wantTurn()
        }
        guard !isInTrouble else { return }
        isInTrouble = true
        onTrouble?(error)
    }
}
