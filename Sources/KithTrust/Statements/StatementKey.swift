import COpenSSL

/// The public key of whoever signs a statement: an EC P-256 key as the DER form of its SubjectPublicKeyInfo (RFC 5480),
/// in the one encoding that this program makes.
struct StatementKey: Hashable, Sendable {
    /// How many bytes it has: the header of RFC 5480 and an uncompressed point.
    static let byteCount = 91

    let der: [UInt8]
    /// Whose key it is.
    let nodeID: NodeID

    /// Everything before the coordinates: id-ecPublicKey, prime256v1, and the mark of an uncompressed point.
    private static let header: [UInt8] = [
        0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48,
        0xce,
        0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
    ]

    /// Takes the bytes if they look like such a key. Whether the point is on the curve is seen when a signature is checked, so
    /// that what a stranger sends costs a digest and no more.
    init?(der: [UInt8]) {
        // Another encoding of the same key would have another ID.
        guard der.count == Self.byteCount, der.starts(with: Self.header) else { return nil }
        self.der = der
        nodeID = NodeID(subjectPublicKeyHash: ContentDigest.sha256(der))
    }

    /// Whether this key has signed the message: ECDSA with SHA-256 (FIPS 186-5), the signature in DER (RFC 3279, section
    /// 2.2.3), in its one encoding.
    func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard let key = Self.read(der), let context = EVP_MD_CTX_new() else { return false }
        defer {
            EVP_PKEY_free(key)
            EVP_MD_CTX_free(context)
            ERR_clear_error()
        }
        return kith_is_p256(key) == 1 && Self.der(of: key) == der
            && EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1
            && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }

    /// The DER form of a key's public part.
    static func der(of key: OpaquePointer) -> [UInt8]? {
        var der: UnsafeMutablePointer<UInt8>?
        let length = i2d_PUBKEY(key, &der)
        guard length > 0, let der else { return nil }
        defer { kith_OPENSSL_free(der) }
        return Array(UnsafeBufferPointer(start: der, count: Int(length)))
    }

    /// Reads a key, which the caller frees.
    private static func read(_ der: [UInt8]) -> OpaquePointer? {
        ERR_clear_error()
        return der.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            let key = d2i_PUBKEY(nil, &position, bytes.count)
            ERR_clear_error()
            return key
        }
    }
}
