import COpenSSL
import Glibc

/// What a peer has shown: its public key, which is its identity, and the name it gives itself, which proves nothing.
public struct PeerCertificate: Sendable, Hashable {
    /// SHA-256 of the DER bytes of the certificate's SubjectPublicKeyInfo, 32 bytes: the node ID.
    public let publicKeyHash: [UInt8]
    /// The subject's common name, as the peer wrote it, or `nil`.
    public let commonName: String?

    /// The whole certificate in DER form, for who wants to know who has signed it; empty where there is none.
    public let bytes: [UInt8]

    /// Makes a value, for tests and for stand-ins of TLS.
    public init(publicKeyHash: [UInt8], commonName: String?) {
        bytes = []
        self.publicKeyHash = publicKeyHash
        self.commonName = commonName
    }

    /// Reads an X509, which stays the caller's. `nil` when its key cannot be written as DER.
    init?(certificate: OpaquePointer) {
        var der: UnsafeMutablePointer<UInt8>?
        // i2d allocates; freed below.
        let length = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &der)
        guard length > 0, let der else { return nil }
        defer { kith_OPENSSL_free(der) }
        var hash = [UInt8](repeating: 0, count: 32)
        guard EVP_Digest(der, Int(length), &hash, nil, EVP_sha256(), nil) == 1 else { return nil }
        publicKeyHash = hash
        var whole: UnsafeMutablePointer<UInt8>?
        let wholeLength = i2d_X509(certificate, &whole)
        guard wholeLength > 0, let whole else { return nil }
        defer { kith_OPENSSL_free(whole) }
        bytes = Array(UnsafeBufferPointer(start: whole, count: Int(wholeLength)))
        var name = [CChar](repeating: 0, count: 256)
        let nameLength = X509_NAME_get_text_by_NID(
            X509_get_subject_name(certificate), NID_commonName, &name, Int32(name.count))
        commonName =
            nameLength > 0
            ? String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
    }
}
