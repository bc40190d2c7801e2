/// What is hashed to make the digest of a revision.
///
/// The digest is the first 20 bytes of SHA-256 over: one byte with the length of the parent's revision ID (0 for a
/// first revision), that ID as text, one byte 1 for a tombstone and 0 for a live revision, the canonical body, and for
/// each blob, in the order of their digests, a byte 0, a byte with the digest's length and the digest. No canonical body
/// has a byte 0, so two different revisions never give the same input.
public enum RevisionDigest {
    /// All the bytes to hash.
    public static func input(
        parent: RevisionID?, deleted: Bool, canonicalBody: [UInt8], blobDigests: [[UInt8]] = []
    ) -> [UInt8] {
        var input = prefix(parent: parent, deleted: deleted)
        input.reserveCapacity(input.count + canonicalBody.count + blobDigests.count * 34)
        input.append(contentsOf: canonicalBody)
        for digest in blobDigests.sorted(by: { ByteText.compare($0, $1) < 0 }) {
            input.append(0)
            input.append(UInt8(truncatingIfNeeded: digest.count))
            input.append(contentsOf: digest)
        }
        return input
    }

    /// The bytes to hash before the canonical body, for hashing the body where it lies.
    public static func prefix(parent: RevisionID?, deleted: Bool) -> [UInt8] {
        var prefix: [UInt8] = []
        prefix.reserveCapacity(64)
        prefix.append(0)
        if let parent {
            parent.append(to: &prefix)
            prefix[0] = UInt8(prefix.count - 1)
        }
        prefix.append(deleted ? 1 : 0)
        return prefix
    }
}
