import COpenSSL
import KithDocuments
import KithTransport

/// A fresh self-signed P-256 certificate, as a node has one.
struct TestIdentity {
    let certificatePEM: [UInt8]
    let keyPEM: [UInt8]
    let identity: TLSIdentity
    var hash: [UInt8] { identity.peerView.publicKeyHash }

    init(_ name: String, notAfter seconds: Int = 86_400) throws {
        let generator = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nil)
        defer { EVP_PKEY_CTX_free(generator) }
        var key: OpaquePointer?
        EVP_PKEY_keygen_init(generator)
        EVP_PKEY_CTX_set_ec_paramgen_curve_nid(generator, NID_X9_62_prime256v1)
        EVP_PKEY_generate(generator, &key)
        defer { EVP_PKEY_free(key) }
        let certificate = X509_new()
        defer { X509_free(certificate) }
        X509_set_version(certificate, 2)
        ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1)
        X509_gmtime_adj(X509_getm_notBefore(certificate), -86_400)
        X509_gmtime_adj(X509_getm_notAfter(certificate), seconds)
        let subject = X509_get_subject_name(certificate)
        X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, name, -1, -1, 0)
        X509_set_issuer_name(certificate, subject)
        X509_set_pubkey(certificate, key)
        X509_sign(certificate, key, EVP_sha256())
        certificatePEM = Self.pem { PEM_write_bio_X509($0, certificate) }
        keyPEM = Self.pem { PEM_write_bio_PrivateKey($0, key, nil, nil, 0, nil, nil) }
        identity = try TLSIdentity(certificatePEM: certificatePEM, privateKeyPEM: keyPEM)
    }

    private static func pem(_ write: (OpaquePointer?) -> Int32) -> [UInt8] {
        let bio = BIO_new(BIO_s_mem())
        defer { BIO_free(bio) }
        _ = write(bio)
        var bytes = [UInt8](repeating: 0, count: 8192)
        let count = BIO_read(bio, &bytes, Int32(bytes.count))
        return Array(bytes.prefix(Int(max(0, count))))
    }

    /// A server's context that trusts exactly these keys.
    func server(trusting hashes: [UInt8]...) throws -> TLSContext {
        try TLSContext.server(identity: identity, verify: Self.only(hashes, .notTrusted))
    }

    /// A client's context that expects exactly these keys.
    func client(expecting hashes: [UInt8]...) throws -> TLSContext {
        try TLSContext.client(identity: identity, verify: Self.only(hashes, .wrongKey))
    }

    private static func only(_ hashes: [[UInt8]], _ code: ErrorCode) -> TLSVerify {
        { certificate in
            hashes.contains(certificate.publicKeyHash)
                ? .trusted : .refused(KithError(code, "unexpected key of \(certificate.commonName ?? "nobody")"))
        }
    }
}
