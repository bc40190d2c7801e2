import KithDocuments

/// The two formulas of pairing by number (docs/protocol/pairing.md).
///
/// The number is bound to both public keys, to the TLS session and to randomness of both sides. The side that asks is
/// bound to its randomness before it sees the other's, so nobody can try values until two numbers meet.
enum PairingTranscript {
    /// The label under which both ends derive 32 bytes from their TLS session (RFC 8446, section 7.5).
    static let exporterLabel = "EXPORTER-kith-pair-1"
    /// Length in bytes of nonces, commitments and the TLS session's value.
    static let valueByteCount = ContentDigest.byteCount

    /// What the side that asks sends first: SHA-256 over its node ID and its nonce.
    static func commitment(nonce: [UInt8], initiator: NodeID) -> [UInt8] {
        ContentDigest.sha256(Array("kith-pair-1 commitment".utf8) + [0] + initiator.subjectPublicKeyHash + nonce)
    }

    /// The number for both screens: the first eight bytes of a SHA-256, big-endian, modulo a million.
    static func number(
        session: [UInt8], initiator: NodeID, responder: NodeID, initiatorNonce: [UInt8], responderNonce: [UInt8]
    ) -> ComparisonNumber {
        let hash = ContentDigest.sha256(
            Array("kith-pair-1 number".utf8) + [0] + session + initiator.subjectPublicKeyHash
                + responder.subjectPublicKeyHash + initiatorNonce + responderNonce)
        let value = hash.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return ComparisonNumber(Int(value % UInt64(ComparisonNumber.count)))
    }
}
