import COpenSSL
import Glibc

/// OpenSSL's way to the socket: a BIO of our own, so that records go between OpenSSL's buffers and the kernel without
/// another copy, writing never raises SIGPIPE, and no system call is made that is known to find nothing.
///
/// A BIO's data is an unretained pointer to its `StreamSocket`. The `TLSSession` owns both: the SSL (which owns the
/// BIO) and a reference to the socket.
enum SocketBIO {
    /// The method table, made once and kept as long as the process.
    private struct Method: @unchecked Sendable {
        // Proof for Sendable: written in `make` alone, before it is shared; OpenSSL only reads it.
        let pointer: OpaquePointer?
    }

    private static let method = Method(pointer: make())

    private static func make() -> OpaquePointer? {
        guard let method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "kith socket") else { return nil }
        BIO_meth_set_read(method, socketBIORead)
        BIO_meth_set_write(method, socketBIOWrite)
        BIO_meth_set_ctrl(method, socketBIOControl)
        return method
    }

    /// A BIO for the socket, owned by the caller; the socket must outlive it.
    static func new(_ socket: StreamSocket) -> OpaquePointer? {
        guard let method = method.pointer, let bio = BIO_new(method) else { return nil }
        BIO_set_data(bio, Unmanaged.passUnretained(socket).toOpaque())
        BIO_set_init(bio, 1)
        return bio
    }
}

/// What says "later" and why.
private let retryFlags = BIO_FLAGS_READ | BIO_FLAGS_WRITE | BIO_FLAGS_IO_SPECIAL | BIO_FLAGS_SHOULD_RETRY

// Free functions because C calls them, always within a call to OpenSSL made on the loop.

private func socket(_ bio: OpaquePointer?) -> StreamSocket? {
    BIO_get_data(bio).map { Unmanaged<StreamSocket>.fromOpaque($0).takeUnretainedValue() }
}

private func socketBIORead(_ bio: OpaquePointer?, _ buffer: UnsafeMutablePointer<CChar>?, _ count: Int32) -> Int32 {
    BIO_clear_flags(bio, retryFlags)
    guard let socket = socket(bio), let buffer, count > 0 else { return -1 }
    switch socket.receiveAhead(into: buffer, count: Int(count)) {
    case .bytes(let received): return Int32(received)
    case .ended: return 0
    case .failed: return -1
    case .wouldBlock:
        BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY)
        return -1
    }
}

private func socketBIOWrite(_ bio: OpaquePointer?, _ buffer: UnsafePointer<CChar>?, _ count: Int32) -> Int32 {
    BIO_clear_flags(bio, retryFlags)
    guard let socket = socket(bio), let buffer, count > 0 else { return -1 }
    switch socket.sendInOrder(buffer, count: Int(count)) {
    case .bytes(let sent): return Int32(sent)
    case .wouldBlock, .failed, .ended:
        // A broken socket is told as "later": the session stays fit for reading, since the reason why the peer went
        // away may still be on the way in. Who called looks at `writeErrno`.
        BIO_set_flags(bio, BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY)
        return -1
    }
}

private func socketBIOControl(
    _ bio: OpaquePointer?, _ command: Int32, _ number: Int, _ argument: UnsafeMutableRawPointer?
) -> Int {
    switch command {
    case BIO_CTRL_FLUSH: 1
    case BIO_CTRL_EOF: socket(bio)?.isAtEndForTLS == true ? 1 : 0
    default: 0
    }
}
