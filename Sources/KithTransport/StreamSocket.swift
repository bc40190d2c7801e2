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

    /// Lends buffers; made before TLS uses the socket.
    var spares = SpareBuffers()
    /// Whether what TLS writes is collected for `flush`.
    var isGathering = false
    /// What TLS wrote and the kernel has not taken, from `unsentStart` on.
    private var unsent: [UInt8] = []
    private var unsentStart = 0
    /// What the kernel gave and TLS has not taken.
    private var unread: [UInt8] = []
    private var unreadRange = 0..<0

    init(_ descriptor: OwnedDescriptor) { self.descriptor = descriptor }

    /// Bytes that TLS wrote and the kernel has not taken.
    var unsentByteCount: Int { unsent.count - unsentStart }

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

    // MARK: For TLS, whose records are small

    /// Reads as `receive` does, but takes more from the kernel than is asked for: records come many at a time.
    func receiveAhead(into buffer: UnsafeMutableRawPointer, count: Int) -> TransferResult {
        if unreadRange.isEmpty {
            if unread.count < TransportLimits.readAheadBytes { spares.takeReadBuffer(&unread) }
            let result = unread.withUnsafeMutableBytes { all in
                all.baseAddress.map { receive(into: $0, count: all.count) } ?? .wouldBlock
            }
            guard case .bytes(let received) = result else {
                spares.giveReadBuffer(&unread)
                return result
            }
            unreadRange = 0..<received
        }
        let taken = min(count, unreadRange.count)
        unread.withUnsafeBytes { all in
            buffer.copyMemory(from: all.baseAddress! + unreadRange.lowerBound, byteCount: taken)
        }
        unreadRange = (unreadRange.lowerBound + taken)..<unreadRange.upperBound
        if unreadRange.isEmpty { spares.giveReadBuffer(&unread) }
        return .bytes(taken)
    }

    /// Whether the end of the stream is the next that TLS gets to see.
    var isAtEndForTLS: Bool { isAtEnd && unreadRange.isEmpty }

    /// Gives the buffer back, and keeps what is in it, mostly a part of a record, in memory of its size.
    func compactUnread() {
        guard unread.count > unreadRange.count else { return }
        let rest = Array(unread[unreadRange])
        spares.giveReadBuffer(&unread)
        unread = rest
        unreadRange = 0..<rest.count
    }

    /// Sends bytes behind those that wait, or has them wait while it is gathering.
    func sendInOrder(_ bytes: UnsafeRawPointer, count: Int) -> TransferResult {
        guard isGathering else {
            guard flush() else { return writeErrno != 0 ? .failed(errno: writeErrno) : .wouldBlock }
            return send(bytes, count: count)
        }
        if unsentByteCount >= TransportLimits.gatheredBytesMax, !flush(),
            unsentByteCount >= TransportLimits.gatheredBytesMax
        {
            return writeErrno != 0 ? .failed(errno: writeErrno) : .wouldBlock
        }
        if unsent.isEmpty { spares.takeWriteBuffer(&unsent) }
        unsent.append(contentsOf: UnsafeRawBufferPointer(start: bytes, count: count))
        return .bytes(count)
    }

    /// Sends what waits; returns whether nothing waits any more.
    func flush() -> Bool {
        while unsentByteCount > 0 {
            let result = unsent.withUnsafeBytes { all in
                all.baseAddress.map { send($0 + unsentStart, count: all.count - unsentStart) } ?? .wouldBlock
            }
            guard case .bytes(let sent) = result else { return false }
            unsentStart += sent
        }
        if unsentStart > 0 {
            unsentStart = 0
            spares.giveWriteBuffer(&unsent)
        }
        return true
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
