import CLinux
import Glibc

/// What an attempt to read or write came to.
enum TransferResult {
    case bytes(Int)
    case wouldBlock
    case ended
    case failed(errno: Int32)
}

/// A connected, non-blocking stream socket and what is known about it from edge-triggered events.
///
/// Not Sendable: made and used on the loop alone. OpenSSL reaches it through `SocketBIO` from calls made on the loop.
final class StreamSocket {
    let descriptor: OwnedDescriptor
    /// Whether a read may find something. Cleared when a read came back empty or short.
    var isReadable = false
    /// Whether a write may find room. Cleared when a write was refused or short.
    var isWritable = false
    /// The peer has ended its direction, or the connection is broken: a short read is then not the last.
    var sawHangUp = false
    /// An error is pending in the kernel (a reset).
    var sawError = false
    /// Both directions have ended: on a Unix socket, the peer has closed it and takes nothing any more.
    private(set) var isGone = false
    /// A read has come to the end of the stream.
    private(set) var isAtEnd = false
    /// Why writing is no longer possible, or 0.
    private(set) var writeErrno: Int32 = 0
    /// Why reading is no longer possible, or 0.
    private(set) var readErrno: Int32 = 0

    init(_ descriptor: OwnedDescriptor) { self.descriptor = descriptor }

    func note(_ events: UInt32) {
        if events & (EPOLLRDHUP.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0 {
            sawHangUp = true
            isReadable = true
        }
        if events & EPOLLERR.rawValue != 0 { sawError = true }
        if events & EPOLLHUP.rawValue != 0 { isGone = true }
        if events & EPOLLIN.rawValue != 0 { isReadable = true }
        if events & (EPOLLOUT.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0 { isWritable = true }
    }

    func receive(into buffer: UnsafeMutableRawPointer, count: Int) -> TransferResult {
        if isAtEnd { return .ended }
        guard isReadable else { return .wouldBlock }
        while true {
            let received = recv(descriptor.number, buffer, count, 0)
            if received > 0 {
                // A short read has emptied the socket (epoll(7)), and more data means another event; but an end that
                // came together with this data has had its event already.
                if received < count, !sawHangUp { isReadable = false }
                return .bytes(received)
            }
            if received == 0 {
                isAtEnd = true
                return .ended
            }
            switch errno {
            case EINTR: continue
            case EAGAIN:
                isReadable = false
                return .wouldBlock
            default:
                readErrno = errno
                return .failed(errno: readErrno)
            }
        }
    }

    func send(_ bytes: UnsafeRawPointer, count: Int) -> TransferResult {
        if writeErrno != 0 { return .failed(errno: writeErrno) }
        guard isWritable else { return .wouldBlock }
        while true {
            // Without a signal: nobody's SIGPIPE disposition is touched or relied on.
            let sent = Glibc.send(descriptor.number, bytes, count, Int32(MSG_NOSIGNAL))
            if sent >= 0 {
                if sent < count { isWritable = false }
                return .bytes(sent)
            }
            switch errno {
            case EINTR: continue
            case EAGAIN:
                isWritable = false
                return .wouldBlock
            default:
                writeErrno = errno
                return .failed(errno: writeErrno)
            }
        }
    }

    func endWriting() { _ = shutdown(descriptor.number, Int32(SHUT_WR)) }

    func setOption(_ level: Int32, _ name: Int32, _ value: Int32) {
        var value = value
        _ = setsockopt(descriptor.number, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    /// The error the kernel has kept for this socket, which it forgets with this call; 0 for none.
    func takeError() -> Int32 {
        var value: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(descriptor.number, SOL_SOCKET, SO_ERROR, &value, &length) == 0 else { return errno }
        return value
    }
}
