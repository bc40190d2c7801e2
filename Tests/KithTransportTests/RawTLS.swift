import COpenSSL
import Glibc
import KithDocuments
import KithTransport

/// The other side of TLS built straight on OpenSSL with blocking sockets, to be what Kith itself never is: an old
/// version, a peer without certificate, a peer that goes without a word. Runs on a thread of its own.
struct RawTLS: Sendable {
    enum Ending: Sendable { case polite, withoutCloseNotify, reset }

    var minimum: Int32 = TLS1_2_VERSION
    var maximum: Int32 = TLS1_2_VERSION
    var suites: String?
    var certificatePEM: [UInt8]?
    var keyPEM: [UInt8]?

    /// What came of it.
    struct Outcome: Sendable {
        var isConnected = false
        var suite = ""
        var received: [UInt8] = []
        var reason: Int32 = 0
    }

    private func context(isServer: Bool) -> OpaquePointer? {
        let context = SSL_CTX_new(isServer ? TLS_server_method() : TLS_client_method())
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(minimum), nil)
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(maximum), nil)
        SSL_CTX_set_security_level(context, 0)
        if let suites { SSL_CTX_set_cipher_list(context, suites) }
        if let certificatePEM, let keyPEM {
            let certificateBIO = BIO_new_mem_buf(certificatePEM, Int32(certificatePEM.count))
            let keyBIO = BIO_new_mem_buf(keyPEM, Int32(keyPEM.count))
            let certificate = PEM_read_bio_X509(certificateBIO, nil, nil, nil)
            let key = PEM_read_bio_PrivateKey(keyBIO, nil, nil, nil)
            SSL_CTX_use_certificate(context, certificate)
            SSL_CTX_use_PrivateKey(context, key)
            X509_free(certificate)
            EVP_PKEY_free(key)
            BIO_free(certificateBIO)
            BIO_free(keyBIO)
        }
        return context
    }

    /// Connects, sends, waits for `expecting` bytes, and ends.
    func connect(
        port: UInt16, send: [UInt8], expecting: Int, ending: Ending = .polite
    ) async -> Outcome {
        await onThread {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            defer { close(descriptor) }
            let result = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            guard result == 0 else { return Outcome() }
            return talk(descriptor, isServer: false, send: send, expecting: expecting, ending: ending)
        }
    }

    /// Takes one connection on a free port, which `onPort` is told.
    func serveOne(onPort: @escaping @Sendable (UInt16) -> Void) async -> Outcome {
        await onThread {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            defer { close(listener) }
            withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    _ = bind(listener, $0, length)
                    _ = listen(listener, 1)
                    _ = getsockname(listener, $0, &length)
                }
            }
            onPort(UInt16(bigEndian: address.sin_port))
            let descriptor = accept(listener, nil, nil)
            defer { close(descriptor) }
            return talk(descriptor, isServer: true, send: [], expecting: 1, ending: .polite)
        }
    }

    private func talk(
        _ descriptor: Int32, isServer: Bool, send: [UInt8], expecting: Int, ending: Ending
    ) -> Outcome {
        var outcome = Outcome()
        ERR_clear_error()
        let context = context(isServer: isServer)
        defer { SSL_CTX_free(context) }
        let ssl = SSL_new(context)
        defer { SSL_free(ssl) }
        SSL_set_fd(ssl, descriptor)
        let result = isServer ? SSL_accept(ssl) : SSL_connect(ssl)
        guard result == 1 else {
            outcome.reason = kith_ERR_GET_REASON(ERR_peek_last_error())
            return outcome
        }
        outcome.isConnected = true
        outcome.suite = String(cString: SSL_CIPHER_get_name(SSL_get_current_cipher(ssl)))
        if !send.isEmpty { _ = SSL_write(ssl, send, Int32(send.count)) }
        var buffer = [UInt8](repeating: 0, count: 4096)
        while outcome.received.count < expecting {
            let count = SSL_read(ssl, &buffer, Int32(buffer.count))
            if count <= 0 {
                outcome.reason = kith_ERR_GET_REASON(ERR_peek_last_error())
                break
            }
            outcome.received += buffer.prefix(Int(count))
        }
        switch ending {
        case .polite:
            SSL_shutdown(ssl)
            shutdown(descriptor, Int32(SHUT_WR))
            while recv(descriptor, &buffer, buffer.count, 0) > 0 {}
        case .withoutCloseNotify: break
        case .reset:
            var linger = linger(l_onoff: 1, l_linger: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
        }
        return outcome
    }
}

/// Runs blocking work on a thread of its own.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        let work = ThreadWork { continuation.resume(returning: body()) }
        var thread = pthread_t()
        let result = pthread_create(&thread, nil, runThreadWork, Unmanaged.passRetained(work).toOpaque())
        precondition(result == 0)
        pthread_detach(thread)
    }
}

private final class ThreadWork: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

private func runThreadWork(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let argument { Unmanaged<ThreadWork>.fromOpaque(argument).takeRetainedValue().body() }
    return nil
}
