import COpenSSL
import KithDocuments

/// One side of SPAKE2 on P-256 with SHA-256, HKDF and HMAC (RFC 9382): two sides that know one short secret prove it to each
/// other, and whoever does not know it learns nothing but whether one guess was right.
///
/// Neither what goes over the wire nor what was recorded of it lets anybody try secrets by himself.
struct SPAKE2: Sendable {
    /// The two sides of the formulas; A's share comes first in the transcript.
    enum Side: Sendable {
        case a
        case b
    }

    /// What both sides have derived.
    struct Proofs: Sendable {
        /// This side's proof that it knows the secret, for the other side: 32 bytes.
        let own: [UInt8]
        /// The proof that the other side must send.
        let expected: [UInt8]
    }

    /// Length in bytes of a scalar: the secret, and the randomness of a side.
    static let scalarByteCount = 32
    /// Length in bytes of a share: an uncompressed point (SEC 1, section 2.3.3).
    static let shareByteCount = 65

    /// What this side sends to the other.
    let share: [UInt8]

    private let side: Side
    private let ownIdentity: [UInt8]
    private let peerIdentity: [UInt8]
    private let secret: SecretBytes
    private let randomness: SecretBytes

    /// Begins one exchange.
    ///
    /// - Parameters:
    ///   - side: which side this is; the other is the other one.
    ///   - ownIdentity: who this side is, bound into the proofs.
    ///   - peerIdentity: who the other side is.
    ///   - secret: `w` of RFC 9382: 32 bytes, big-endian, below the order of the group.
    ///   - randomness: 32 fresh random bytes; a test gives those of the RFC.
    /// - Throws: `.internal` when OpenSSL fails.
    init(
        side: Side, ownIdentity: [UInt8], peerIdentity: [UInt8], secret: SecretBytes, randomness: SecretBytes
    ) throws(KithError) {
        self.side = side
        self.ownIdentity = ownIdentity
        self.peerIdentity = peerIdentity
        self.secret = secret
        self.randomness = randomness
        let curve = try SPAKE2Curve()
        // pA = x*P + w*M, pB = y*P + w*N
        let own = try curve.generator(times: randomness)
        let blind = try curve.multiply(curve.blindingPoint(of: side), by: secret)
        share = try curve.encode(try curve.add(own, blind))
    }

    /// What follows from the share of the other side.
    ///
    /// - Parameters:
    ///   - peerShare: what the other side sent, 65 bytes.
    ///   - context: what else both sides must agree in (`AAD` of RFC 9382).
    /// - Throws: `.protocolViolation` when the share is no point that an honest side sends.
    func proofs(peerShare: [UInt8], context: [UInt8]) throws(KithError) -> Proofs {
        let curve = try SPAKE2Curve()
        let peerSide: Side = side == .a ? .b : .a
        // Compressed and hybrid forms (SEC 1) are other texts of the same point, which no honest side sends.
        guard peerShare.first == 4, peerShare.count == Self.shareByteCount else { throw Self.badShare }
        let peer = try curve.decode(peerShare)
        let blind = try curve.multiply(curve.blindingPoint(of: peerSide), by: secret)
        // K = x*(pB - w*N) = y*(pA - w*M); the cofactor of P-256 is 1.
        let shared = try curve.multiply(try curve.add(peer, try curve.negated(blind)), by: randomness)
        guard !curve.isInfinity(shared) else { throw Self.badShare }
        let isA = side == .a
        // TT of RFC 9382, section 3.3.
        var transcript: [UInt8] = []
        // It never moves, so that nothing of it is left behind in memory that was given back.
        transcript.reserveCapacity(6 * 8 + 2 * ownIdentity.count + 2 * peerIdentity.count + 4 * Self.shareByteCount)
        Self.append(isA ? ownIdentity : peerIdentity, to: &transcript)
        Self.append(isA ? peerIdentity : ownIdentity, to: &transcript)
        Self.append(isA ? share : peerShare, to: &transcript)
        Self.append(isA ? peerShare : share, to: &transcript)
        Self.append(try curve.encode(shared), to: &transcript)
        secret.withBytes { Self.append([UInt8]($0), to: &transcript) }
        defer { transcript.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) } }
        // Ke || Ka = Hash(TT); KcA || KcB = HKDF(Ka, "ConfirmationKeys" || AAD), section 3.4. Ke is used for nothing: the
        // connection has its own keys.
        var hash = [UInt8](repeating: 0, count: 32)
        defer { hash.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) } }
        guard EVP_Digest(transcript, transcript.count, &hash, nil, EVP_sha256(), nil) == 1 else { throw Self.failed() }
        var keys = try Self.hkdf(key: Array(hash[16...]), info: Array("ConfirmationKeys".utf8) + context, count: 32)
        defer { keys.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) } }
        let proofA = try Self.hmac(key: Array(keys[..<16]), transcript)
        let proofB = try Self.hmac(key: Array(keys[16...]), transcript)
        return Proofs(own: isA ? proofA : proofB, expected: isA ? proofB : proofA)
    }

    static let badShare = KithError(.protocolViolation, "the other side sent a share that is no point of the curve")

    static func failed() -> KithError {
        KithError(.internal, "OpenSSL could not calculate: \(OpenSSLFailure.take())")
    }

    /// A length of eight bytes, little-endian, and the bytes.
    private static func append(_ bytes: [UInt8], to transcript: inout [UInt8]) {
        withUnsafeBytes(of: UInt64(bytes.count).littleEndian) { transcript += $0 }
        transcript += bytes
    }

    private static func hmac(key: [UInt8], _ data: [UInt8]) throws(KithError) -> [UInt8] {
        var mac = [UInt8](repeating: 0, count: 32)
        guard HMAC(EVP_sha256(), key, Int32(key.count), data, data.count, &mac, nil) != nil else { throw failed() }
        return mac
    }

    /// HKDF of RFC 5869 with SHA-256 and no salt.
    private static func hkdf(key: [UInt8], info: [UInt8], count: Int) throws(KithError) -> [UInt8] {
        guard let context = EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, nil) else { throw failed() }
        defer { EVP_PKEY_CTX_free(context) }
        var output = [UInt8](repeating: 0, count: count)
        var length = count
        guard EVP_PKEY_derive_init(context) == 1, EVP_PKEY_CTX_set_hkdf_md(context, EVP_sha256()) == 1,
            EVP_PKEY_CTX_set1_hkdf_key(context, key, Int32(key.count)) == 1,
            EVP_PKEY_CTX_add1_hkdf_info(context, info, Int32(info.count)) == 1,
            EVP_PKEY_derive(context, &output, &length) == 1, length == count
        else { throw failed() }
        return output
    }
}
