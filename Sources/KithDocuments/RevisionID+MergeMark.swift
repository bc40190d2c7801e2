// A merge mark is the ID of a revision that nobody ever wrote. It stands in the history of a merged revision, between it and
// the version that was its winner, and names another version that was merged there:
//
//   the generation after that of its parent - 6d65726765, which spells "merge",
//                                             the fingerprint of the merged version's ID, 16 hex digits,
//                                             the lower 14 hex digits of the fingerprint of its parent's ID
//
// A fingerprint is FNV-1a in 64 bits over the text of an ID. With the parent in it two marks are the same only where the same
// was merged into the same.
//
// So what was merged travels wherever the merged revision's history goes, through nodes and clients that know nothing of it,
// and the merged revision's own ID says it too, since it follows from its parent's.
extension RevisionID {
    /// "merge", in the highest of eight bytes.
    private static let markerWord: UInt64 = 0x6D65_7267_6500_0000
    private static let markerMask: UInt64 = 0xFFFF_FFFF_FF00_0000

    /// The ID that says in a history that a version was merged there.
    ///
    /// - Parameters:
    ///   - version: the version that was merged.
    ///   - parent: what the mark follows in the history: the version that was the winner, or the mark before.
    /// - Throws: `bad_name` when there is no further generation.
    public static func mergeMark(of version: RevisionID, after parent: RevisionID) throws(KithError) -> RevisionID {
        guard parent.generation < DocumentLimits.revisionGenerationMax else {
            throw KithError(.badName, "no revision can follow generation \(DocumentLimits.revisionGenerationMax)")
        }
        let (merged, place) = (version.fingerprint, parent.fingerprint)
        var words = InlineWords()
        words.word0 = markerWord | merged >> 40
        words.word1 = merged << 24 | place >> 32 & 0xFF_FFFF
        words.word2 = UInt32(truncatingIfNeeded: place)
        words.count = UInt8(inlineBytesMax)
        return RevisionID(generation32: parent.generation32 + 1, form: .hex, words: words, longText: nil)
    }

    /// Whether this is a merge mark, and no revision that anybody wrote.
    public var isMergeMark: Bool {
        form == .hex && Int(inlineCount) == Self.inlineBytesMax && word0 & Self.markerMask == Self.markerWord
    }

    /// Whether this is a merge mark that was made to follow the revision.
    func isMergeMark(after parent: RevisionID) -> Bool {
        isMergeMark && (word1 & 0xFF_FFFF) << 32 | UInt64(word2) == parent.fingerprint & 0xFF_FFFF_FFFF_FFFF
    }

    /// The fingerprint of the version that was merged; nil where this is no merge mark.
    var mergedFingerprint: UInt64? { isMergeMark ? word0 << 40 | word1 >> 24 : nil }

    /// What marks say of an ID: so much that two are the same only by intent.
    var fingerprint: UInt64 {
        bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
    }
}
