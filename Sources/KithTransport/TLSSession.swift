import COpenSSL
import Glibc
import KithDocuments

/// One TLS connection over one socket.
///
/// Not Sendable: made and used on the loop alone. It owns the SSL, which owns the BIO; it keeps the context and the
/// socket alive.
final class TLSSession {
    /// The slot of an SSL's extra data that holds the session: the one OpenSSL keeps free for applications.
    static let exDataIndex: Int32 = 0

    enum Step {
        case done
        case wouldBlock
        case failed(KithError)
    }

    enum Transfer {
        case bytes(Int)
        case wouldBlock
        case ended
        case failed(KithError)
    }

    private let ssl: OpaquePointer
    private let context: TLSContext
    private let socket: StreamSocket
    private let verify: TLSVerify?
    /// The peer's address, for errors.
    let remoteName: String
    /// What the peer has shown; set when its certificate was looked at, trusted or not.
    private(set) var peer: PeerCertificate?
    /// This side's reason to refuse the peer.
    private(set) var refusal: KithError?
    /// What OpenSSL makes the alert of; this one becomes `unknown_ca`.
    private(set) var verifyError = X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT

    init(context: TLSContext, verify: TLSVerify?, socket: StreamSocket, remoteName: String) throws(KithError) {
        ERR_clear_error()
        guard let ssl = SSL_new(context.pointer) else {
            throw KithError(.tlsFailed, "OpenSSL has no memory for one more connection")
        }
        guard let bio = SocketBIO.new(socket) else {
            SSL_free(ssl)
            throw KithError(.tlsFailed, "OpenSSL has no memory for one more connection")
        }
        // One reference for reading and writing, which the SSL takes over.
        SSL_set_bio(ssl, bio, bio)
        self.ssl = ssl
        self.context = context
        self.socket = socket
        self.verify = verify
        self.remoteName = remoteName
        // Unretained: the SSL dies with this object.
        SSL_set_ex_data(ssl, TLSSession.exDataIndex, Unmanaged.passUnretained(self).toOpaque())
        if context.isServer { SSL_set_accept_state(ssl) } else { SSL_set_connect_state(ssl) }
    }

    deinit { SSL_free(ssl) }

    var isServer: Bool { context.isServer }
    var versionName: String { String(cString: SSL_get_version(ssl)) }
    var suiteName: String { SSL_CIPHER_get_name(SSL_get_current_cipher(ssl)).map { String(cString: $0) } ?? "" }

    /// The application protocol that both sides speak on this connection, once it is chosen.
    var applicationProtocol: String? {
        var name: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        SSL_get0_alpn_selected(ssl, &name, &count)
        // The SSL owns it.
        return name.map { String(decoding: UnsafeBufferPointer(start: $0, count: Int(count)), as: UTF8.self) }
    }

    /// Whether a peer may ask for this application protocol.
    func speaks(_ name: String) -> Bool { context.protocols[name] != nil }

    func handshake() -> Step {
        ERR_clear_error()
        let result = SSL_do_handshake(ssl)
        if result == 1 {
            if peer == nil, !context.takesNoCertificate || applicationProtocol != nil {
                return .failed(missingCertificate)
            }
            if !isServer, let wanted = context.protocols.keys.first, applicationProtocol != wanted {
                return .failed(
                    KithError(.protocolViolation, "\(remoteName) does not speak \(wanted)"))
            }
            return .done
        }
        switch outcome(result) {
        case .wouldBlock: return .wouldBlock
        case .failed(let error): return .failed(refusal ?? error)
        case .ended, .bytes: return .failed(endedInHandshake)
        }
    }

    func read(into buffer: UnsafeMutableRawPointer, count: Int) -> Transfer {
        ERR_clear_error()
        let result = SSL_read(ssl, buffer, Int32(count))
        return result > 0 ? .bytes(Int(result)) : outcome(result)
    }

    func write(_ bytes: UnsafeRawBufferPointer) -> Transfer {
        ERR_clear_error()
        let result = SSL_write(ssl, bytes.baseAddress, Int32(bytes.count))
        return result > 0 ? .bytes(Int(result)) : outcome(result)
    }

    /// Sends close_notify; false while the socket has no room for it.
    func endWriting() -> Bool {
        ERR_clear_error()
        let result = SSL_shutdown(ssl)
        if result >= 0 { return true }
        if case .wouldBlock = outcome(result) { return socket.writeErrno != 0 }
        return true
    }

    /// Bytes that both ends of this session, and nobody else, can derive (RFC 8446, section 7.5).
    func exportKeyingMaterial(label: String, context: [UInt8], count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        let result = SSL_export_keying_material(
            ssl, &bytes, count, label, label.utf8.count, context, context.count, 1)
        ERR_clear_error()
        return result == 1 ? bytes : nil
    }

    /// The decision about the peer's certificate, asked by OpenSSL within the handshake. The X509 stays OpenSSL's.
    func decide(certificate: OpaquePointer) -> Bool {
        guard let shown = PeerCertificate(certificate: certificate) else {
            refusal = KithError(.notTrusted, "\(remoteName) shows a key that cannot be read")
            return false
        }
        peer = shown
        let verify = self.verify ?? applicationProtocol.flatMap { context.protocols[$0] } ?? context.verify
        switch verify(shown) {
        case .trusted: return true
        case .refused(let error):
            refusal = error
        case .outdated(let error):
            refusal = error
            verifyError = X509_V_ERR_CERT_HAS_EXPIRED
        case .revoked(let error):
            refusal = error
            verifyError = X509_V_ERR_CERT_REVOKED
        }
        return false
    }

    private func outcome(_ result: Int32) -> Transfer {
        switch SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: .wouldBlock
        case SSL_ERROR_ZERO_RETURN: .ended
        case SSL_ERROR_SSL: .failed(queuedError())
        default: .failed(lost(errno: socket.readErrno))
        }
    }
}
