/// What a revision tree keeps of a revision that was pruned: enough to know it again.
///
/// The generation is exact. Of the digest there are 56 bits: FNV-1a in 64 bits over the bytes of its text as it came, the
/// highest eight folded onto the lowest. So two revisions are taken for one only when they have the same generation and
/// these 56 bits in common, which does not happen by chance. Who makes such a revision on purpose gets it taken for an
/// ancestor that is known already: it is not stored, and nobody else's is touched.
struct PrunedRevision: Hashable, Comparable, Sendable {
    let generation32: UInt32
    /// Below 2^56.
    let fingerprint: UInt64

    static let fingerprintBytes = 7

    init(generation32: UInt32, fingerprint: UInt64) {
        self.generation32 = generation32
        self.fingerprint = fingerprint
    }

    init(_ revision: RevisionID) {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in revision.digestBytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        self.init(generation32: revision.generation32, fingerprint: (hash ^ hash >> 56) & (1 << 56 - 1))
    }

    static func < (a: PrunedRevision, b: PrunedRevision) -> Bool {
        (a.generation32, a.fingerprint) < (b.generation32, b.fingerprint)
    }
}
