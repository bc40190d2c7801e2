import CLinux
import Glibc
import KithDocuments

/// Where a dialling connection stands.
struct Dialling {
    enum Target {
        case tcp(SocketAddress)
        case unix(UnixSocketAddress)
    }
    var candidates: [Target]
    /// When the whole attempt ends, in nanoseconds of the monotonic clock.
    let deadline: UInt64
    var lastError: KithError?
}

extension Connection {
    /// Begins a connection to a TCP address. A host name is looked up, and its addresses are tried in turn.
    ///
    /// Never fails at once: set the callbacks on what is returned; errors come with `onClose`.
    ///
    /// - Parameters:
    ///   - address: where to.
    ///   - tls: the client's side of TLS, or `nil` for none.
    ///   - verify: decides about this connection's peer instead of the context's closure.
    ///   - options: times and sizes.
    public static func dial(
        _ address: SocketAddress, tls: TLSContext? = nil, verify: TLSVerify? = nil, options: ConnectionOptions = .init()
    ) -> Connection {
        let connection = Connection(
            remoteName: address.description, phase: .resolving, tls: tls, verify: verify, options: options)
        if address.isName {
            connection.startDialling([])
            NameResolver.shared.resolve(address) { result in
                guard connection.phase == .resolving else { return }
                switch result {
                case .success(let found):
                    connection.dialling?.candidates = found.map { .tcp($0) }
                    connection.wantTurn()
                case .failure(let error): connection.finish(error)
                }
            }
        } else {
            connection.startDialling([.tcp(address)])
            connection.wantTurn()
        }
        return connection
    }

    /// Begins a connection to a Unix socket; errors come with `onClose` (`.noNode` when nobody listens there).
    public static func dial(_ address: UnixSocketAddress, options: ConnectionOptions = .init()) -> Connection {
        let connection = Connection(
            remoteName: address.path, phase: .resolving, tls: nil, verify: nil, options: options)
        connection.startDialling([.unix(address)])
        connection.wantTurn()
        return connection
    }

    private func startDialling(_ candidates: [Dialling.Target]) {
        let nanoseconds = UInt64(max(0, options.connectSeconds) * 1e9)
        dialling = Dialling(candidates: candidates, deadline: EventLoop.monotonicNanoseconds + nanoseconds)
        startConnectTimer(options.connectSeconds)
    }

    private func startConnectTimer(_ seconds: Double) {
        timer?.cancel()
        // The timer keeps the connection alive while no descriptor is watched yet.
        timer = EventLoop.shared.schedule(afterSeconds: seconds) { [self] in
            candidateFailed(
                KithError(
                    .timedOut, "\(remoteName) did not answer within \(options.connectSeconds) seconds",
                    remedy: "Check the address, and that no firewall drops the packets"))
        }
    }

    /// Goes on to the next address; called in the loop's turn while nothing is being connected.
    func tryNextCandidate() {
        guard var current = dialling, !current.candidates.isEmpty else { return }
        let target = current.candidates.removeFirst()
        let remaining = current.candidates.count + 1
        dialling = current
        let now = EventLoop.monotonicNanoseconds
        // Each address gets its share of the time that is left, so that one that swallows packets does not take all.
        startConnectTimer(Double(current.deadline > now ? current.deadline - now : 0) / 1e9 / Double(remaining))
        do {
            try connect(to: target)
        } catch {
            candidateFailed(error)
        }
    }

    private func connect(to target: Dialling.Target) throws(KithError) {
        let family =
            switch target {
            case .tcp(let address): address.family
            case .unix: AF_UNIX
            }
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = OwnedDescriptor(Glibc.socket(family, type, 0))
        guard descriptor.number >= 0 else {
            throw KithError(.connectionLost, "No socket for \(remoteName): \(errorText(errno))")
        }
        let socket = StreamSocket(descriptor)
        socket.setKernelBuffers(options.kernelBufferBytes)
        let attempt: (UnsafePointer<sockaddr>, socklen_t) -> Int32 = { address, length in
            Glibc.connect(descriptor.number, address, length) == 0 ? 0 : errno
        }
        switch target {
        case .tcp(let address):
            let result = try address.withSockaddr(attempt)
            guard result == 0 || result == EINPROGRESS || result == EINTR else {
                throw connectionError(result, remoteName: remoteName)
            }
            phase = .connecting
        case .unix(let address):
            let result = try address.withSockaddr(attempt)
            guard result == 0 else { throw socketError(result, path: address.path) }
            socket.isWritable = true
            phase = .connecting
        }
        self.socket = socket
        try EventLoop.shared.watch(descriptor.number, self)
    }

    /// Looks whether the connection is made.
    func advanceConnect() {
        guard let socket, socket.isWritable else { return }
        let number = socket.takeError()
        let own = SocketAddress.of(socket.descriptor.number, peer: false)
        if number != 0 {
            candidateFailed(connectionError(number, remoteName: remoteName))
        } else if let own, own == SocketAddress.of(socket.descriptor.number, peer: true) {
            // On the machine itself a socket can meet itself when its own port was the one dialled.
            candidateFailed(connectionError(ECONNREFUSED, remoteName: remoteName))
        } else {
            begin(socket, isTCP: own != nil)
        }
    }

    private func candidateFailed(_ error: KithError) {
        if let socket {
            EventLoop.shared.unwatch(socket.descriptor.number)
            socket.descriptor.close()
            self.socket = nil
        }
        guard dialling?.candidates.isEmpty == false else { return finish(error) }
        phase = .resolving
        wantTurn()
    }
}

extension StreamSocket {
    func setKernelBuffers(_ bytes: Int) {
        guard bytes > 0 else { return }
        let size = Int32(clamping: bytes)
        setOption(SOL_SOCKET, SO_SNDBUF, size)
        setOption(SOL_SOCKET, SO_RCVBUF, size)
    }
}
