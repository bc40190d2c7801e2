/// The ID of a revision, `generation-digest`, such as `2-9f2c…`.
///
/// The generation is a decimal number from 1 to 2^32−1 without sign or leading zero. The digest is text of 1 to 82
/// characters out of letters, digits and `-._~+/=`; revisions made here have 40 lower-case hex digits, and those made
/// elsewhere are kept exactly as they came. Two IDs are equal when their texts have the same bytes.
///
/// `<` is the order of the winner rule among leaves of one kind: the generation as a number, then the digest as bytes
/// of its lower-case text (and then, so that no two different IDs tie, as bytes of its text).
///
/// Hex digests of up to 20 bytes, which is what nearly everybody makes, live inside the value without allocation.
public struct RevisionID: Hashable, Comparable, Sendable {
    // The first 20 bytes of the digest, big-endian and padded with zeros, so that comparing the words compares the
    // bytes: the bytes that the hex digits spell, or the text itself for a short digest of another form.
    let word0: UInt64
    let word1: UInt64
    let word2: UInt32
    let generation32: UInt32
    let form: Form
    /// How many of the inline bytes are used.
    let inlineCount: UInt8
    /// The digest's text when it has no room inline.
    let longText: [UInt8]?

    enum Form: UInt8, Sendable {
        /// Lower-case hex, an even number of digits, at most 40; the words hold the bytes.
        case hex
        /// Other text of at most 20 bytes, in the words.
        case shortText
        /// Other text, in `longText`.
        case longText
    }

    static let inlineBytesMax = 20

    /// The generation, 1 to 2^32−1: how many revisions long the branch is, when every ancestor is known.
    public var generation: UInt64 { UInt64(generation32) }

    /// Reads `generation-digest`.
    ///
    /// - Throws: `bad_name` when the text is not a revision ID.
    public init(parsing text: String) throws(KithError) {
        guard let revision = ByteText.withBytes(of: text, { RevisionID(bytes: $0) }) else { throw Self.refusal }
        self = revision
    }

    /// Reads `generation-digest` from bytes.
    ///
    /// - Throws: `bad_name` when the bytes are not a revision ID.
    public init(parsing bytes: UnsafeRawBufferPointer) throws(KithError) {
        guard let revision = RevisionID(bytes: bytes) else { throw Self.refusal }
        self = revision
    }

    /// Reads `generation-digest` from bytes.
    ///
    /// - Throws: `bad_name` when the bytes are not a revision ID.
    public init(parsing bytes: [UInt8]) throws(KithError) {
        guard let revision = bytes.withUnsafeBytes({ RevisionID(bytes: $0) }) else { throw Self.refusal }
        self = revision
    }

    /// The ID of a revision made here, from the hash of its `RevisionDigest.input`.
    ///
    /// - Parameters:
    ///   - generation: 1, or the parent's generation and 1.
    ///   - hash: at least 20 bytes; the first 20 become the digest, as 40 hex digits.
    /// - Throws: `bad_name` when the generation is out of range or the hash too short.
    public init(generation: UInt64, hash: some Collection<UInt8>) throws(KithError) {
        guard (1...DocumentLimits.revisionGenerationMax).contains(generation), hash.count >= Self.inlineBytesMax else {
            throw KithError(.badName, "no revision can follow generation \(DocumentLimits.revisionGenerationMax)")
        }
        var words = InlineWords()
        for byte in hash.prefix(Self.inlineBytesMax) { words.append(byte) }
        self.init(generation32: UInt32(generation), form: .hex, words: words, longText: nil)
    }

    /// The ID with this generation and digest text, as in CouchDB's `_revisions`.
    ///
    /// - Throws: `bad_name` when either is not legal.
    public init(generation: UInt64, digest: String) throws(KithError) {
        guard (1...DocumentLimits.revisionGenerationMax).contains(generation),
            let revision = ByteText.withBytes(
                of: digest, { RevisionID(generation32: UInt32(generation), digest: $0) })
        else { throw Self.refusal }
        self = revision
    }

    static var refusal: KithError {
        KithError(
            .badName, "this is not a revision ID", remedy: "It is written GENERATION-DIGEST, such as 3-9f2c01b7")
    }

    init(generation32: UInt32, form: Form, words: InlineWords, longText: [UInt8]?) {
        self.word0 = words.word0
        self.word1 = words.word1
        self.word2 = words.word2
        self.generation32 = generation32
        self.form = form
        self.inlineCount = words.count
        self.longText = longText
    }

    /// Whether both have the same bytes.
    public static func == (a: RevisionID, b: RevisionID) -> Bool {
        a.word0 == b.word0 && a.generation32 == b.generation32 && a.word1 == b.word1 && a.word2 == b.word2
            && a.inlineCount == b.inlineCount && a.form == b.form
            && (a.form != .longText || a.longText == b.longText)
    }

    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(word0)
        hasher.combine(word1 ^ UInt64(generation32))
        if let longText { hasher.combine(longText) }
    }

    /// The order of the winner rule among leaves of one kind.
    public static func < (a: RevisionID, b: RevisionID) -> Bool {
        if a.generation32 != b.generation32 { return a.generation32 < b.generation32 }
        guard a.form == .hex, b.form == .hex else { return slowlyIsDigestLess(a, b) }
        // Hex digits in lower case sort as the bytes they spell, and a digest before those that it begins.
        if a.word0 != b.word0 { return a.word0 < b.word0 }
        if a.word1 != b.word1 { return a.word1 < b.word1 }
        if a.word2 != b.word2 { return a.word2 < b.word2 }
        return a.inlineCount < b.inlineCount
    }

    private static func slowlyIsDigestLess(_ a: RevisionID, _ b: RevisionID) -> Bool {
        let left = a.digestBytes
        let right = b.digestBytes
        let order = ByteText.compare(left.map(lowerCased), right.map(lowerCased))
        return order != 0 ? order < 0 : ByteText.compare(left, right) < 0
    }

    private static func lowerCased(_ byte: UInt8) -> UInt8 {
        byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
    }
}
