import Glibc
import KithDocuments

/// One connection to a socket in the file system, with a deadline for every step. Closed when it is released.
final class UnixSocket {
    private let descriptor: Int32

    /// Connects.
    ///
    /// - Throws: `KithError`: no_node when nothing listens there, node_unreachable without permission or when the queue
    ///   of a node that hangs stays full until the deadline.
    init(path: String, deadlineMilliseconds: Int, timeoutMilliseconds: Int, noNodeHint: String) throws {
        let descriptor = socket(
            AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        guard descriptor >= 0 else {
            throw KithError(.inputOutput, "no socket could be made: \(SystemText.error(errno))")
        }
        do {
            try Self.connect(descriptor, path, deadlineMilliseconds, timeoutMilliseconds, noNodeHint)
        } catch {
            Glibc.close(descriptor)
            throw error
        }
        self.descriptor = descriptor
    }

    deinit { Glibc.close(descriptor) }

    private static func connect(
        _ descriptor: Int32, _ path: String, _ deadline: Int, _ timeout: Int, _ hint: String
    ) throws {
        // A path longer than sun_path is reached through its folder: Linux follows /proc/self/fd/N/name.
        var folder: Int32 = -1
        defer { if folder >= 0 { Glibc.close(folder) } }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let room = MemoryLayout.size(ofValue: address.sun_path)
        var name = Array(path.utf8)
        if name.count >= room {
            let slash = name.lastIndex(of: UInt8(ascii: "/")) ?? 0
            folder = open(String(decoding: name[..<slash], as: UTF8.self), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard folder >= 0 else { throw failure(errno, path, timeout, hint) }
            name = Array("/proc/self/fd/\(folder)".utf8) + name[slash...]
            guard name.count < room else {
                throw KithError(
                    .badConfiguration, "the name of the socket \(DisplayText.safe(path)) is too long",
                    remedy: "Choose a shorter one")
            }
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        while true {
            let result = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            if result == 0 { return }
            let code = errno
            if code == EINTR { continue }
            // EAGAIN: the node's queue of new connections is full, and Linux has no event for "there is room again".
            guard code == EAGAIN, MonotonicClock.milliseconds < deadline else {
                throw failure(code, path, timeout, hint)
            }
            _ = poll(nil, 0, 20)
        }
    }

    private static func failure(_ code: Int32, _ path: String, _ timeout: Int, _ hint: String) -> KithError {
        switch code {
        case ENOENT, ENOTDIR: ConnectionFailure.noNode(path, isStale: false, hint: hint)
        case ECONNREFUSED: ConnectionFailure.noNode(path, isStale: true, hint: hint)
        case EACCES, EPERM: ConnectionFailure.noPermission(path)
        case EAGAIN: ConnectionFailure.noAnswer(afterMilliseconds: timeout)
        default:
            KithError(
                .nodeUnreachable,
                "the node's socket \(DisplayText.safe(path)) cannot be used: \(SystemText.error(code))")
        }
    }

    /// Whether the other side has closed, or has sent what nobody asked for: no request may be sent any more.
    var isUsable: Bool { !waits(for: Int16(POLLIN), milliseconds: 0) }

    /// Waits until there is something to read, or room to write; false when the time is over or a signal came.
    func waits(for events: Int16, milliseconds: Int) -> Bool {
        var wanted = [pollfd(fd: descriptor, events: events, revents: 0)]
        let interruption = Interruption.descriptor
        if interruption >= 0 { wanted.append(pollfd(fd: interruption, events: Int16(POLLIN), revents: 0)) }
        let count = poll(&wanted, nfds_t(wanted.count), Int32(clamping: milliseconds))
        return count > 0 && wanted[0].revents != 0
    }

    /// Writes some of the bytes; 0 when there is no room now.
    ///
    /// - Throws: `KithError` (connection_lost) when the other side has gone.
    func send(_ bytes: UnsafeRawBufferPointer) throws -> Int {
        while true {
            let count = Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
            if count >= 0 { return count }
            switch errno {
            case EINTR: continue
            case EAGAIN: return 0
            default: throw ConnectionFailure.wentAway()
            }
        }
    }

    /// Reads some bytes: `nil` when there is nothing now, 0 at the end.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count >= 0 { return count }
            switch errno {
            case EINTR: continue
            case EAGAIN: return nil
            default: return 0
            }
        }
    }
}
