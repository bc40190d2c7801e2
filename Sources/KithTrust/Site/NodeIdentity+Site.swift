import COpenSSL
import KithDocuments

// Certificates that a site's authority signs: the key stays here, only the request and the certificate travel.

extension NodeIdentity {
    /// Asks an authority for a certificate: the public key and the name, signed by the key (RFC 2986).
    ///
    /// - Parameter name: the common name that is asked for.
    /// - Returns: PEM text.
    /// - Throws: `badName`, `internal`.
    public func certificateRequest(name: String) throws(KithError) -> [UInt8] {
        try NodeName.check(name)
        ERR_clear_error()
        let bytes = Array(name.utf8)
        let made = KeyAndCertificate.withKey(key) { key -> [UInt8]? in
            guard let request = X509_REQ_new() else { return nil }
            defer { X509_REQ_free(request) }
            guard X509_REQ_set_version(request, 0) == 1, X509_REQ_set_pubkey(request, key) == 1,
                X509_NAME_add_entry_by_NID(
                    X509_REQ_get_subject_name(request), NID_commonName, MBSTRING_FLAG /* UTF-8 */, bytes,
                    Int32(bytes.count), -1, 0) == 1,
                X509_REQ_sign(request, key, EVP_sha256()) > 0, let text = BIO_new(BIO_s_mem())
            else { return nil }
            defer { BIO_free(text) }
            guard PEM_write_bio_X509_REQ(text, request) == 1 else { return nil }
            var start: UnsafeMutablePointer<CChar>?
            let count = kith_bio_get_mem_data(text, &start)
            return [UInt8](UnsafeRawBufferPointer(start: start, count: max(0, count)))
        }
        guard let made, let made else {
            throw KithError(.internal, "the request cannot be made", cause: OpenSSLFailure.take())
        }
        return made
    }

    /// Puts a certificate that somebody has signed in the place of the one that is there, durably: a crash leaves the old one or the
    /// new one. The key stays.
    ///
    /// - Returns: the identity with it.
    /// - Throws: `damaged` when it is no certificate or one of another key; `homeNotWritable`, `diskFull`, `inputOutput`. Then nothing
    ///   has changed.
    public static func install(
        certificate: [UInt8], inFolder folder: String
    ) throws(KithError) -> NodeIdentity {
        let old = try load(fromFolder: folder)
        _ = try KeyAndCertificate.read(
            key: old.key, certificate: certificate, keyPath: folder + "/" + keyFileName,
            certificatePath: "the new certificate")
        try certificate.withUnsafeBufferPointer { bytes throws(KithError) in
            try PrivateFiles.replace(folder + "/" + certificateFileName, UnsafeRawBufferPointer(bytes))
        }
        return try load(fromFolder: folder)
    }
}
