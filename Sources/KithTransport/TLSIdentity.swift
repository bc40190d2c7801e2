import COpenSSL
import Glibc
import KithDocuments

/// A certificate and its private key, as this side shows them in a handshake.
public final class TLSIdentity: @unchecked Sendable {
    // Proof for Sendable: both pointers are set once in init, this object owns them until deinit, nothing writes to
    // what they point to, and OpenSSL's reference counts are atomic.
    let certificate: OpaquePointer
    let privateKey: OpaquePointer
    /// What a peer will see of this identity.
    public let peerView: PeerCertificate

    /// Reads a certificate and a private key without passphrase.
    ///
    /// - Throws: `.badConfiguration` when the text cannot be read, or the key is not that of the certificate.
    public init(certificatePEM: [UInt8], privateKeyPEM: [UInt8]) throws(KithError) {
        ERR_clear_error()
        let certificate = Self.read(certificatePEM) { PEM_read_bio_X509($0, nil, noPassphrase, nil) }
        let key = Self.read(privateKeyPEM) { PEM_read_bio_PrivateKey($0, nil, noPassphrase, nil) }
        var view: PeerCertificate?
        if let certificate { view = PeerCertificate(certificate: certificate) }
        let isPair = certificate != nil && key != nil && X509_check_private_key(certificate, key) == 1
        ERR_clear_error()
        guard let certificate, let key, let view, isPair else {
            X509_free(certificate)
            EVP_PKEY_free(key)
            if certificate == nil || view == nil {
                throw KithError(.badConfiguration, "The node's certificate cannot be read")
            }
            throw KithError(
                .badConfiguration,
                key == nil
                    ? "The node's private key cannot be read"
                    : "The node's private key does not belong to its certificate")
        }
        self.certificate = certificate
        self.privateKey = key
        peerView = view
    }

    private static func read(_ pem: [UInt8], _ body: (OpaquePointer) -> OpaquePointer?) -> OpaquePointer? {
        pem.withUnsafeBytes { bytes in
            // The BIO reads the caller's bytes in place and is freed before they go.
            guard let bio = BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count)) else { return nil }
            defer { BIO_free(bio) }
            return body(bio)
        }
    }

    deinit {
        X509_free(certificate)
        EVP_PKEY_free(privateKey)
    }
}

/// Answers OpenSSL's question for a passphrase with "none" instead of asking on the terminal.
private func noPassphrase(
    _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int32, _ isWriting: Int32, _ argument: UnsafeMutableRawPointer?
) -> Int32 { -1 }
