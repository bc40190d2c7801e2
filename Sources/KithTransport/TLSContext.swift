import COpenSSL
import KithDocuments

/// The settings of one side of TLS: its identity, its versions and suites, and who decides about peers.
///
/// Both sides show certificates. Dates, names and chains in them decide nothing; the `verify` closure decides by the
/// public key. There is no resumption, no renegotiation, no compression and no early data, so every connection has
/// a full handshake and the closure is asked for every one.
public final class TLSContext: @unchecked Sendable {
    // Proof for Sendable: the pointer is set once in init, this object owns it until deinit, it is not changed after
    // init, and SSL_new may be called on it from several threads (its reference count is atomic).
    let pointer: OpaquePointer
    let isServer: Bool
    let verify: TLSVerify
    /// The application protocols that are spoken beside the ordinary one, and who decides about peers that speak them.
    let protocols: [String: TLSVerify]
    /// Whether a peer that asks for no application protocol may show no certificate.
    let takesNoCertificate: Bool
    /// What peers see of this side.
    public let identity: TLSIdentity

    /// The listening side: TLS 1.3, and TLS 1.2 with ECDHE and AEAD suites alone for apps that have nothing newer.
    ///
    /// - Parameters:
    ///   - verify: decides about peers that ask for no application protocol, or for none of `protocols`.
    ///   - protocols: application protocols (RFC 7301), each with who decides about peers that ask for it. Such a
    ///     connection speaks that and nothing else: `ConnectionInfo.applicationProtocol` says so.
    ///   - takesNoCertificate: whether a peer that speaks none of `protocols` may show no certificate: then
    ///     `ConnectionInfo.peer` is `nil`, and nothing is known of it. One that it shows is judged all the same.
    /// - Throws: `.internal` when OpenSSL refuses a setting.
    public static func server(
        identity: TLSIdentity, verify: @escaping TLSVerify, protocols: [String: TLSVerify] = [:],
        takesNoCertificate: Bool = false
    ) throws(KithError) -> TLSContext {
        try TLSContext(
            isServer: true, identity: identity, verify: verify, protocols: protocols,
            takesNoCertificate: takesNoCertificate)
    }

    /// The dialling side: TLS 1.3 alone.
    ///
    /// - Parameter applicationProtocol: the only one that is asked for (RFC 7301); a server that does not choose it is
    ///   refused with `.protocolViolation`. With `nil` none is asked for.
    /// - Throws: `.internal` when OpenSSL refuses a setting.
    public static func client(
        identity: TLSIdentity, verify: @escaping TLSVerify, applicationProtocol: String? = nil
    ) throws(KithError) -> TLSContext {
        try TLSContext(
            isServer: false, identity: identity, verify: verify,
            protocols: applicationProtocol.map { [$0: verify] } ?? [:], takesNoCertificate: false)
    }

    private init(
        isServer: Bool, identity: TLSIdentity, verify: @escaping TLSVerify, protocols: [String: TLSVerify],
        takesNoCertificate: Bool
    ) throws(KithError) {
        ERR_clear_error()
        guard let context = SSL_CTX_new(isServer ? TLS_server_method() : TLS_client_method()) else {
            throw KithError(.internal, "OpenSSL has no memory for TLS")
        }
        // The context takes references of its own to the certificate and the key.
        let isSet =
            kith_SSL_CTX_set_min_proto_version(context, isServer ? TLS1_2_VERSION : TLS1_3_VERSION) == 1
            && SSL_CTX_set_cipher_list(context, Self.suitesOfTLS12) == 1
            && SSL_CTX_use_certificate(context, identity.certificate) == 1
            && SSL_CTX_use_PrivateKey(context, identity.privateKey) == 1
        guard isSet else {
            SSL_CTX_free(context)
            throw KithError(.internal, "OpenSSL refuses the TLS settings: \(TLSSession.queuedErrorText())")
        }
        kith_SSL_CTX_harden(context)
        SSL_CTX_set_num_tickets(context, 0)
        kith_SSL_CTX_set_max_cert_list(context, TransportLimits.peerCertificateBytesMax)
        SSL_CTX_set_verify(
            context, SSL_VERIFY_PEER | (takesNoCertificate ? 0 : SSL_VERIFY_FAIL_IF_NO_PEER_CERT), nil)
        SSL_CTX_set_cert_verify_callback(context, verifyPeerCertificate, nil)
        if isServer {
            if !protocols.isEmpty { SSL_CTX_set_alpn_select_cb(context, selectProtocol, nil) }
        } else if let name = protocols.keys.first {
            // One name with its length before it; the only function of these that returns 0 for success.
            let list = [UInt8(truncatingIfNeeded: name.utf8.count)] + Array(name.utf8)
            guard SSL_CTX_set_alpn_protos(context, list, UInt32(list.count)) == 0 else {
                SSL_CTX_free(context)
                throw KithError(.internal, "OpenSSL refuses the application protocol")
            }
        }
        pointer = context
        self.isServer = isServer
        self.verify = verify
        self.protocols = protocols
        self.takesNoCertificate = takesNoCertificate
        self.identity = identity
    }

    /// Forward secrecy and authenticated encryption, nothing else (RFC 9325, section 4.2).
    private static let suitesOfTLS12 =
        "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:"
        + "ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384:ECDHE-RSA-CHACHA20-POLY1305"

    deinit { SSL_CTX_free(pointer) }
}

/// Takes the place of OpenSSL's own check of the chain; free because C calls it, within SSL_do_handshake on the loop.
private func verifyPeerCertificate(_ store: OpaquePointer?, _ argument: UnsafeMutableRawPointer?) -> Int32 {
    guard let store, let certificate = X509_STORE_CTX_get0_cert(store),
        let ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()),
        let data = SSL_get_ex_data(OpaquePointer(ssl), TLSSession.exDataIndex)
    else { return 0 }
    // The session owns the SSL that is calling, so it is alive.
    let session = Unmanaged<TLSSession>.fromOpaque(data).takeUnretainedValue()
    if session.decide(certificate: certificate) {
        X509_STORE_CTX_set_error(store, X509_V_OK)
        return 1
    }
    // OpenSSL makes the alert of it.
    X509_STORE_CTX_set_error(store, session.verifyError)
    return 0
}

/// Chooses the application protocol, within SSL_do_handshake on the loop and before the peer's certificate is looked at.
/// A peer that asks only for what is not spoken here gets none, and is judged as one that has not asked.
private func selectProtocol(
    _ ssl: OpaquePointer?, _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
    _ chosenCount: UnsafeMutablePointer<UInt8>?, _ offered: UnsafePointer<UInt8>?, _ offeredCount: UInt32,
    _ argument: UnsafeMutableRawPointer?
) -> Int32 {
    guard let ssl, let offered, let data = SSL_get_ex_data(ssl, TLSSession.exDataIndex) else {
        return SSL_TLSEXT_ERR_NOACK
    }
    let session = Unmanaged<TLSSession>.fromOpaque(data).takeUnretainedValue()
    // OpenSSL has checked that the list is well formed (RFC 7301, section 3.1).
    var position = 0
    while position < Int(offeredCount) {
        let count = Int(offered[position])
        let name = String(decoding: UnsafeBufferPointer(start: offered + position + 1, count: count), as: UTF8.self)
        if session.speaks(name) {
            // Points into the peer's list, which OpenSSL keeps until it has copied the name.
            chosen?.pointee = offered + position + 1
            chosenCount?.pointee = UInt8(count)
            return SSL_TLSEXT_ERR_OK
        }
        position += 1 + count
    }
    return SSL_TLSEXT_ERR_NOACK
}
