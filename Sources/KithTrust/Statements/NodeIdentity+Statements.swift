import COpenSSL
import KithDocuments

extension NodeIdentity {
    /// Says that a node is revoked.
    ///
    /// - Parameters:
    ///   - subject: who is no longer to be trusted.
    ///   - reason: for people; see `TrustStatement.check(reason:)`.
    ///   - seconds: now, since 1970.
    /// - Throws: `.badRequest` for a reason that cannot be said; `.internal` when OpenSSL cannot sign.
    public func revocation(of subject: NodeID, reason: String, seconds: Int64) throws(KithError) -> TrustStatement {
        try TrustStatement.check(reason: reason)
        let key = try publicKey()
        let text = Array(reason.utf8)
        let head = StatementOutline.head(
            kind: 1, seconds: seconds, key: key, rest: subject.subjectPublicKeyHash + [UInt8(text.count)] + text)
        let signature = try sign(StatementOutline.message(of: head))
        return try TrustStatement(verifying: head + [UInt8(signature.count)] + signature)
    }

    /// Says that this node goes on under another key; both keys sign.
    ///
    /// - Throws: `.internal` when OpenSSL cannot sign.
    func rotation(to next: NodeIdentity, seconds: Int64) throws(KithError) -> TrustStatement {
        let head = StatementOutline.head(
            kind: 2, seconds: seconds, key: try publicKey(), rest: try next.publicKey())
        let message = StatementOutline.message(of: head)
        let (old, new) = (try sign(message), try next.sign(message))
        return try TrustStatement(verifying: head + [UInt8(old.count)] + old + [UInt8(new.count)] + new)
    }

    private func publicKey() throws(KithError) -> [UInt8] {
        let der = KeyAndCertificate.withKey(key) { StatementKey.der(of: $0) } ?? nil
        guard let der, der.count == StatementKey.byteCount else {
            throw KithError(.internal, "the node's key cannot be written as statements need it")
        }
        return der
    }

    private func sign(_ message: [UInt8]) throws(KithError) -> [UInt8] {
        let signature = KeyAndCertificate.withKey(key) { key -> [UInt8]? in
            guard let context = EVP_MD_CTX_new() else { return nil }
            defer { EVP_MD_CTX_free(context) }
            var count = 128
            var bytes = [UInt8](repeating: 0, count: count)
            guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1,
                EVP_DigestSign(context, &bytes, &count, message, message.count) == 1
            else { return nil }
            return Array(bytes.prefix(count))
        }
        guard let signature = signature ?? nil else {
            throw KithError(.internal, "a statement cannot be signed", cause: OpenSSLFailure.take())
        }
        return signature
    }
}
