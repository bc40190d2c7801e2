/// Two node IDs as words that both people can read out, the same on both sides.
public enum FingerprintWords {
    /// How many words there are. Each is one of 100: whoever wants another key to give the same words has to try 10^24 keys.
    public static let count = 12

    /// The words of two nodes, in whatever order they are given.
    ///
    /// They are digits of SHA-256 over `kith-verify-1`, a zero byte, and the two IDs, the smaller first; twelve pairs of bytes,
    /// each modulo 100.
    public static func words(_ one: NodeID, _ other: NodeID) -> [String] {
        let ids = min(one, other).subjectPublicKeyHash + max(one, other).subjectPublicKeyHash
        let digest = ContentDigest.sha256(Array("kith-verify-1".utf8) + [0] + ids)
        return (0..<count).map { index in
            ComparisonWords.all[(Int(digest[2 * index]) << 8 | Int(digest[2 * index + 1])) % 100]
        }
    }
}
