import COpenSSL
import Glibc
import KithDocuments

/// OpenSSL's part of an identity: making and reading P-256 keys and certificates that sign themselves.
///
/// Every OpenSSL object made here is freed here, by a `defer` beside the call that made it.
enum KeyAndCertificate {
    /// Makes a new key and a certificate for it, both as PEM.
    static func make(name: String) throws(KithError) -> (key: SecretBytes, certificate: [UInt8]) {
        ERR_clear_error()
        guard let key = kith_generate_p256() else { throw failed("a key cannot be made") }
        defer { EVP_PKEY_free(key) }
        // The secure memory BIO wipes its buffer when it grows and when it is freed.
        guard let keyText = BIO_new(BIO_s_secmem()) else { throw failed("no memory for the key") }
        defer { BIO_free(keyText) }
        guard PEM_write_bio_PKCS8PrivateKey(keyText, key, nil, nil, 0, nil, nil) == 1 else {
            throw failed("the key cannot be written")
        }
        return (SecretBytes(copying: contents(of: keyText)), try makeCertificate(for: key, name: name))
    }

    /// Makes a new certificate for a key that is there, as PEM.
    static func makeCertificate(for key: SecretBytes, name: String) throws(KithError) -> [UInt8] {
        guard let opened = openKey(key) else { throw failed("the key cannot be read") }
        defer { EVP_PKEY_free(opened) }
        return try makeCertificate(for: opened, name: name)
    }

    private static func makeCertificate(for key: OpaquePointer, name: String) throws(KithError) -> [UInt8] {
        guard let certificate = X509_new() else { throw failed("no memory for the certificate") }
        defer { X509_free(certificate) }
        try fill(certificate, key: key, name: name)
        guard X509_sign(certificate, key, EVP_sha256()) > 0 else { throw failed("the certificate cannot be signed") }
        guard let certificateText = BIO_new(BIO_s_mem()) else { throw failed("no memory for the certificate") }
        defer { BIO_free(certificateText) }
        guard PEM_write_bio_X509(certificateText, certificate) == 1 else {
            throw failed("the certificate cannot be written")
        }
        return [UInt8](contents(of: certificateText))
    }

    /// Checks that a key and a certificate are sound and belong together, and says who they are.
    static func read(
        key: SecretBytes, certificate: [UInt8], keyPath: String, certificatePath: String
    ) throws(KithError) -> (nodeID: NodeID, commonName: String, validThroughSeconds: Int64, isSelfSigned: Bool) {
        guard let privateKey = openKey(key) else {
            throw damaged("\(keyPath) is not a private key without password in PEM form")
        }
        defer { EVP_PKEY_free(privateKey) }
        guard kith_is_p256(privateKey) == 1 else {
            ERR_clear_error()
            throw damaged("\(keyPath) is not an EC P-256 key")
        }
        let parsed = certificate.withUnsafeBytes { bytes -> OpaquePointer? in
            guard let text = BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count)) else { return nil }
            defer { BIO_free(text) }
            return PEM_read_bio_X509(text, nil, refusePassword, nil)
        }
        guard let parsed else { throw damaged("\(certificatePath) is not a certificate in PEM form") }
        defer { X509_free(parsed) }
        guard X509_check_private_key(parsed, privateKey) == 1 else {
            ERR_clear_error()
            throw damaged("\(certificatePath) belongs to another key than \(keyPath)")
        }
        guard let hash = subjectPublicKeyHash(of: parsed) else { throw failed("the certificate cannot be read") }
        return (
            NodeID(subjectPublicKeyHash: hash), commonName(of: parsed), endSeconds(of: parsed),
            X509_self_signed(parsed, 1) == 1
        )
    }

    /// Until when a certificate is valid, in seconds since 1970; the distant past where that cannot be read.
    private static func endSeconds(of certificate: OpaquePointer) -> Int64 {
        var parts = tm()
        guard ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &parts) == 1 else {
            ERR_clear_error()
            return 0
        }
        return Int64(timegm(&parts))
    }

    /// Reads a key without password, which the caller frees.
    private static func openKey(_ key: SecretBytes) -> OpaquePointer? {
        ERR_clear_error()
        return key.withBytes { bytes -> OpaquePointer? in
            guard let text = BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count)) else { return nil }
            defer { BIO_free(text) }
            return PEM_read_bio_PrivateKey(text, nil, refusePassword, nil)
        }
    }

    /// Lends the key to OpenSSL; `nil` when it cannot be read.
    static func withKey<R>(_ key: SecretBytes, _ body: (OpaquePointer) -> R) -> R? {
        guard let opened = openKey(key) else { return nil }
        defer { EVP_PKEY_free(opened) }
        return body(opened)
    }

    /// SHA-256 over the DER form of the certificate's SubjectPublicKeyInfo.
    static func subjectPublicKeyHash(of certificate: OpaquePointer) -> [UInt8]? {
        var der: UnsafeMutablePointer<UInt8>?
        let length = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &der)
        guard length > 0, let der else { return nil }
        defer { kith_OPENSSL_free(der) }
        var hash = [UInt8](repeating: 0, count: NodeID.hashByteCount)
        guard EVP_Digest(der, Int(length), &hash, nil, EVP_sha256(), nil) == 1 else { return nil }
        return hash
    }

    static func commonName(of certificate: OpaquePointer) -> String {
        let subject = X509_get_subject_name(certificate)
        let index = X509_NAME_get_index_by_NID(subject, NID_commonName, -1)
        guard index >= 0, let entry = X509_NAME_get_entry(subject, index) else { return "" }
        var text: UnsafeMutablePointer<UInt8>?
        let length = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(entry))
        guard length >= 0, let text else {
            ERR_clear_error()
            return ""
        }
        defer { kith_OPENSSL_free(text) }
        return String(decoding: UnsafeBufferPointer(start: text, count: Int(length)), as: UTF8.self)
    }

    private static func fill(
        _ certificate: OpaquePointer, key: OpaquePointer, name: String
    ) throws(KithError) {
        var serial = [UInt8](repeating: 0, count: 16)
        guard RAND_bytes(&serial, Int32(serial.count)) == 1 else { throw failed("there is no randomness") }
        serial[0] = serial[0] & 0x7f | 0x40  // positive, and never zero (RFC 5280 §4.1.2.2)
        guard let number = BN_bin2bn(serial, Int32(serial.count), nil) else { throw failed("no memory") }
        defer { BN_free(number) }
        let day = 24 * 3600
        let subject = X509_get_subject_name(certificate)
        let nameBytes = Array(name.utf8)
        guard X509_set_version(certificate, 2) == 1,  // 2 stands for v3
            BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nil,
            X509_gmtime_adj(X509_getm_notBefore(certificate), -Int(TrustLimits.certificateBackdateDays) * day) != nil,
            X509_gmtime_adj(X509_getm_notAfter(certificate), Int(TrustLimits.certificateValidDays) * day) != nil,
            X509_NAME_add_entry_by_NID(
                subject, NID_commonName, MBSTRING_FLAG /* UTF-8 */, nameBytes, Int32(nameBytes.count), -1, 0) == 1,
            X509_set_issuer_name(certificate, subject) == 1,
            X509_set_pubkey(certificate, key) == 1
        else { throw failed("the certificate cannot be made") }
        let extensions = [
            (NID_basic_constraints, "critical,CA:FALSE"),
            (NID_key_usage, "critical,digitalSignature"),
            (NID_ext_key_usage, "serverAuth,clientAuth"),
            // For programs on this machine that check names, such as curl; peers look at the key alone.
            (NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1,IP:::1"),
        ]
        for (kind, value) in extensions {
            guard let made = X509V3_EXT_conf_nid(nil, nil, kind, value) else {
                throw failed("the certificate cannot be made")
            }
            defer { X509_EXTENSION_free(made) }
            guard X509_add_ext(certificate, made, -1) == 1 else { throw failed("the certificate cannot be made") }
        }
    }

    /// The bytes of a memory BIO, valid until it is written to or freed.
    private static func contents(of bio: OpaquePointer) -> UnsafeRawBufferPointer {
        var start: UnsafeMutablePointer<CChar>?
        let count = kith_bio_get_mem_data(bio, &start)
        return UnsafeRawBufferPointer(start: start, count: max(0, count))
    }

    private static func failed(_ message: String) -> KithError {
        KithError(.internal, message, cause: OpenSSLFailure.take())
    }

    private static func damaged(_ message: String) -> KithError {
        ERR_clear_error()
        return KithError(
            .damaged, message,
            remedy: "Restore the identity from a backup; a new one would have to be paired with every peer again")
    }
}

/// Given to OpenSSL in place of its own question on the terminal: a key with a password is refused.
private let refusePassword:
    @convention(c) (UnsafeMutablePointer<CChar>?, Int32, Int32, UnsafeMutableRawPointer?) -> Int32 =
        { _, _, _, _ in -1 }
