import CLinux
import COpenSSL
import Glibc
import KithDocuments

/// What TLS can do at most: bytes pushed through one loopback connection by two processes that do nothing else, with the
/// certificates of nodes and TLS 1.3 as they speak it, and hashed as attachments are where they come out.
enum RawTLS {
    private static let step = 64 << 10

    /// Waits for `send` of another process, and takes all that it sends.
    ///
    /// - Parameters:
    ///   - identityFolder: has the certificate and the key.
    ///   - onListening: gets the port.
    /// - Returns: MiB in a second, from the handshake on.
    static func receive(identityFolder: String, mebibytes: Int, onListening: (UInt16) -> Void) throws -> Double {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        var address = loopback(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let port: UInt16? = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                guard bind(listener, pointer, length) == 0, listen(listener, 1) == 0,
                    getsockname(listener, pointer, &length) == 0
                else { return nil }
                return pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                    UInt16(bigEndian: $0.pointee.sin_port)
                }
            }
        }
        guard let port else { throw KithError(.portBusy, "no port for the comparison with TLS") }
        onListening(port)
        let connection = accept(listener, nil, nil)
        defer { close(connection) }
        let session = try makeSession(identityFolder, connection, isServer: true)
        defer { SSL_free(session) }
        guard SSL_accept(session) == 1 else { throw KithError(.tlsFailed, "the comparison's handshake failed") }
        let hash = try PlainSHA1()
        var buffer = [UInt8](repeating: 0, count: step)
        var left = mebibytes << 20
        let seconds = try Stopwatch.seconds {
            while left > 0 {
                let count = SSL_read(session, &buffer, Int32(min(buffer.count, left)))
                guard count > 0 else { throw KithError(.connectionLost, "the comparison's connection has ended") }
                buffer.withUnsafeBytes { hash.add(UnsafeRawBufferPointer(rebasing: $0[..<Int(count)])) }
                left -= Int(count)
            }
        }
        return Double(mebibytes) / seconds
    }

    /// Sends so much to `receive` of another process.
    static func send(identityFolder: String, mebibytes: Int, to port: UInt16) throws {
        let connection = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(connection) }
        var address = loopback(port: port)
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(connection, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else { throw KithError(.connectionLost, "the comparison's port takes no connection") }
        let session = try makeSession(identityFolder, connection, isServer: false)
        defer { SSL_free(session) }
        guard SSL_connect(session) == 1 else { throw KithError(.tlsFailed, "the comparison's handshake failed") }
        let bytes = [UInt8](repeating: 7, count: step)
        var left = mebibytes << 20
        while left > 0 {
            let count = SSL_write(session, bytes, Int32(min(bytes.count, left)))
            guard count > 0 else { throw KithError(.connectionLost, "the comparison's connection has ended") }
            left -= Int(count)
        }
        // Nothing is closed before the other has all.
        var byte: UInt8 = 0
        _ = SSL_read(session, &byte, 1)
    }

    private static func loopback(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    private static func makeSession(_ folder: String, _ connection: Int32, isServer: Bool) throws -> OpaquePointer {
        guard let context = SSL_CTX_new(isServer ? TLS_server_method() : TLS_client_method()) else {
            throw KithError(.tlsFailed, "OpenSSL has no context for the comparison")
        }
        // The session keeps it.
        defer { SSL_CTX_free(context) }
        guard kith_SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1,
            SSL_CTX_use_certificate_file(context, folder + "/certificate.pem", SSL_FILETYPE_PEM) == 1,
            SSL_CTX_use_PrivateKey_file(context, folder + "/key.pem", SSL_FILETYPE_PEM) == 1
        else { throw KithError(.tlsFailed, "the comparison cannot use the node's certificate") }
        // Both show certificates; here any will do.
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT) { _, _ in 1 }
        guard let session = SSL_new(context), SSL_set_fd(session, connection) == 1 else {
            throw KithError(.tlsFailed, "OpenSSL has no session for the comparison")
        }
        return session
    }
}
