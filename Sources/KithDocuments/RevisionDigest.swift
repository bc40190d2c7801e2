/// What is hashed to make the digest of a revision.
///
/// The digest is the first 20 bytes of SHA-256 over, one after the other:
///
/// - one byte with the length of the parent's revision ID (0 for a first revision), and that ID as text;
/// - one byte, 1 for a tombstone and 0 for a live revision;
/// - the canonical body;
/// - for each attachment, rising by the bytes of its name: a byte 0; two bytes with the length of the name, the higher
///   first, and the name; two bytes likewise and the content type; one byte with the length of the encoding (0 for none)
///   and the encoding; the 20 bytes of the digest.
///
/// No canonical body has a byte 0, and everything else has its length before it, so two different revisions never give
/// the same input. An attachment's length follows from its digest, and `revpos` is history and not content: neither is in
/// it, so that nodes that tell them differently still make the same revision.
public enum RevisionDigest {
    /// All the bytes to hash.
    public static func input(
        parent: RevisionID?, deleted: Bool, canonicalBody: [UInt8], attachments: AttachmentList = AttachmentList()
    ) -> [UInt8] {
        var input = prefix(parent: parent, deleted: deleted)
        input.reserveCapacity(input.count + canonicalBody.count)
        input.append(contentsOf: canonicalBody)
        input.append(contentsOf: suffix(attachments: attachments))
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

    /// The bytes to hash after the canonical body; empty without attachments.
    public static func suffix(attachments: AttachmentList) -> [UInt8] {
        var suffix: [UInt8] = []
        for attachment in attachments {
            suffix.append(0)
            for text in [attachment.name, attachment.contentType] {
                // Both are at most 1,024 bytes long.
                let count = UInt16(truncatingIfNeeded: text.utf8.count)
                suffix.append(UInt8(count >> 8))
                suffix.append(UInt8(count & 0xFF))
                suffix.append(contentsOf: text.utf8)
            }
            let encoding = attachment.encoding ?? ""
            suffix.append(UInt8(truncatingIfNeeded: encoding.utf8.count))
            suffix.append(contentsOf: encoding.utf8)
            suffix.append(contentsOf: attachment.digest.bytes)
        }
        return suffix
    }
}
