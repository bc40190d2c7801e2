// A filler is the ID of a revision that nobody ever wrote. Couchbase Lite refuses a history that skips a generation, and fills
// the gaps of those that it sends; so does whoever sends it one:
//
//   the generation - faded000, 16 hex digits
//
// Couchbase Lite draws the digits; here they are the fingerprint of the revision above the gap, so that the same history is
// always filled in the same way and two branches never seem to meet in a filler.
extension RevisionID {
    /// `faded000`, as the upper half of eight bytes.
    private static let fillerWord: UInt64 = 0xFADE_D000_0000_0000
    private static let fillerBytes: UInt8 = 12

    /// Whether this stands in a history for a revision that its sender does not know, and is no revision that anybody wrote.
    public var isFiller: Bool {
        form == .hex && inlineCount == Self.fillerBytes && word0 >> 32 == Self.fillerWord >> 32
    }

    /// What stands for an ancestor of this revision that is not known.
    ///
    /// - Parameter generation: of the ancestor; lower than this revision's, and at least 1.
    public func filler(at generation: UInt64) -> RevisionID {
        var words = InlineWords()
        words.word0 = Self.fillerWord | fingerprint >> 32
        words.word1 = fingerprint << 32
        words.count = Self.fillerBytes
        return RevisionID(generation32: UInt32(clamping: generation), form: .hex, words: words, longText: nil)
    }

    /// Whether the digest is one that Couchbase Lite reads: an even number of lower-case hex digits, here up to 40.
    public var hasHexDigest: Bool { form == .hex }
}
