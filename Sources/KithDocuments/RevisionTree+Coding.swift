// The encoding:
//
//   byte    version: 1, or 2 when revisions were pruned
//   varint  number of nodes
//   nodes, rising by revision ID, each
//     byte    bits 0-2 flags (deleted, has body, leaf); bits 3-4 parent (0 none, 1 the node before, 2 a number follows);
//             bit 5 generation (1: the generation before and 1; 0: a number follows); bits 6-7 digest (0: 20 bytes of
//             hex, 1: 16 bytes of hex, 2: other hex with a length byte, 3: text with a length byte)
//     varint  how much the generation is above the one before (only bit 5 = 0; never 1)
//     varint  how many nodes before this one the parent is (only parent = 2; at least 2)
//     bytes   digest
//   only in version 2:
//   varint  number of pruned revisions, not 0
//   pruned revisions, rising by generation and then by fingerprint, each
//     varint  how much the generation is above the one before
//     7 bytes fingerprint (see PrunedRevision), highest first
//
// A varint is little-endian base 128, shortest form. Nothing may follow. Since all is in order and every choice is forced,
// a tree has one encoding, and a decoder that re-encodes gives the same bytes. A tree without pruned revisions is written
// as version 1, which is all that versions before 2 could read.
extension RevisionTree {
    private static let version: UInt8 = 1
    private static let versionWithPruned: UInt8 = 2

    /// The tree as bytes, about 22 for each revision and 8 for each that was pruned. Equal trees give equal bytes.
    public func encoded() -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(8 + nodes.count * 22 + pruned.count * (PrunedRevision.fingerprintBytes + 1))
        output.append(pruned.isEmpty ? Self.version : Self.versionWithPruned)
        Self.appendVarint(UInt64(nodes.count), to: &output)
        var generation: UInt32 = 0
        for index in nodes.indices {
            let node = nodes[index]
            let revision = node.revision
            let step = revision.generation32 &- generation
            let distance = node.parent < 0 ? 0 : index - Int(node.parent)
            var head = node.flags.rawValue
            if distance > 0 { head |= distance == 1 ? 1 << 3 : 2 << 3 }
            if step == 1 { head |= 1 << 5 }
            let kind: UInt8 =
                switch revision.form {
                case .hex: revision.inlineCount == 20 ? 0 : revision.inlineCount == 16 ? 1 : 2
                case .shortText, .longText: 3
                }
            output.append(head | kind << 6)
            if step != 1 { Self.appendVarint(UInt64(step), to: &output) }
            if distance > 1 { Self.appendVarint(UInt64(distance), to: &output) }
            revision.appendPacked(withLength: kind >= 2, to: &output)
            generation = revision.generation32
        }
        if !pruned.isEmpty { appendPruned(to: &output) }
        return output
    }

    private func appendPruned(to output: inout [UInt8]) {
        Self.appendVarint(UInt64(pruned.count), to: &output)
        var generation: UInt32 = 0
        for one in pruned {
            Self.appendVarint(UInt64(one.generation32 - generation), to: &output)
            generation = one.generation32
            withUnsafeBytes(of: one.fingerprint.bigEndian) { output.append(contentsOf: $0.dropFirst()) }
        }
    }

    /// Reads what `encoded()` wrote.
    ///
    /// - Throws: `damaged` when the bytes are not exactly such an encoding, or of a later version.
    public init(decoding bytes: UnsafeRawBufferPointer) throws(KithError) {
        var reader = Reader(bytes: bytes)
        guard let tree = Self.decode(&reader) else {
            throw KithError(.damaged, "a document's revision tree is damaged at byte \(reader.position + 1)")
        }
        self = tree
    }

    /// Reads what `encoded()` wrote.
    ///
    /// - Throws: `damaged` when the bytes are not exactly such an encoding, or of a later version.
    public init(decoding bytes: [UInt8]) throws(KithError) {
        var position = 0
        let tree = bytes.withUnsafeBytes { buffer in
            var reader = Reader(bytes: buffer)
            defer { position = reader.position }
            return Self.decode(&reader)
        }
        guard let tree else {
            throw KithError(.damaged, "a document's revision tree is damaged at byte \(position + 1)")
        }
        self = tree
    }

    private struct Reader {
        let bytes: UnsafeRawBufferPointer
        var position = 0

        init(bytes: UnsafeRawBufferPointer) {
            self.bytes = bytes
        }

        @inline(__always)
        mutating func byte() -> UInt8? {
            guard position < bytes.count else { return nil }
            defer { position += 1 }
            return bytes[position]
        }

        @inline(__always)
        mutating func slice(_ count: Int) -> UnsafeRawBufferPointer? {
            guard count <= bytes.count - position else { return nil }
            defer { position += count }
            return UnsafeRawBufferPointer(rebasing: bytes[position..<(position + count)])
        }

        /// A number below 2^35 in its shortest form.
        mutating func varint() -> UInt64? {
            var value: UInt64 = 0
            for place in 0..<5 {
                guard let byte = byte() else { return nil }
                value |= UInt64(byte & 0x7F) << UInt64(place * 7)
                if byte < 0x80 { return byte == 0 && place > 0 ? nil : value }
            }
            return nil
        }
    }

    private static func decode(_ reader: inout Reader) -> RevisionTree? {
        guard let version = reader.byte(), version == Self.version || version == versionWithPruned,
            let nodes = decodeNodes(&reader)
        else { return nil }
        var pruned: [PrunedRevision] = []
        if version == versionWithPruned {
            guard let newest = nodes.last, let read = decodePruned(&reader, below: newest.revision.generation32) else {
                return nil
            }
            pruned = read
        }
        guard reader.position == reader.bytes.count else { return nil }
        return RevisionTree(nodes: nodes, pruned: pruned)
    }

    /// A revision was pruned because of a leaf above it, and leaves are not pruned.
    private static func decodePruned(_ reader: inout Reader, below newest: UInt32) -> [PrunedRevision]? {
        guard let count = reader.varint(), count > 0, count <= UInt64(DocumentLimits.prunedRevisionsMax),
            Int(count) * (PrunedRevision.fingerprintBytes + 1) <= reader.bytes.count
        else { return nil }
        var pruned: [PrunedRevision] = []
        pruned.reserveCapacity(Int(count))
        var generation: UInt64 = 0
        for _ in 0..<count {
            guard let step = reader.varint(), let bytes = reader.slice(PrunedRevision.fingerprintBytes) else {
                return nil
            }
            generation += step
            guard generation >= 1, generation < newest else { return nil }
            let one = PrunedRevision(
                generation32: UInt32(generation), fingerprint: bytes.reduce(0) { $0 << 8 | UInt64($1) })
            if let last = pruned.last, one <= last { return nil }
            pruned.append(one)
        }
        return pruned
    }

    private static func decodeNodes(_ reader: inout Reader) -> [Node]? {
        guard let count = reader.varint() else { return nil }
        // A node has at least 3 bytes, so no claim of the header makes room for more than the bytes can hold.
        guard count <= UInt64(DocumentLimits.treeRevisionsMax), Int(count) * 3 <= reader.bytes.count else { return nil }
        var nodes: [Node] = []
        nodes.reserveCapacity(Int(count) + 1)
        var generation: UInt64 = 0
        for index in 0..<Int(count) {
            guard let node = decodeNode(&reader, index: index, generation: &generation) else { return nil }
            if index > 0 {
                guard nodes[index - 1].revision < node.revision else { return nil }
            }
            if node.parent >= 0 {
                let parent = nodes[Int(node.parent)]
                guard parent.revision.generation32 < node.revision.generation32, !parent.flags.contains(.leaf) else {
                    return nil
                }
            }
            nodes.append(node)
        }
        // Nobody can be the ancestor's ancestor of the newest: it is a leaf.
        guard nodes.last?.flags.contains(.leaf) ?? true else { return nil }
        return nodes
    }

    @inline(__always)
    private static func decodeNode(_ reader: inout Reader, index: Int, generation: inout UInt64) -> Node? {
        guard let head = reader.byte() else { return nil }
        var step: UInt64 = 1
        if head & 1 << 5 == 0 {
            guard let explicit = reader.varint(), explicit != 1 else { return nil }
            step = explicit
        }
        generation += step
        guard generation >= 1, generation <= DocumentLimits.revisionGenerationMax else { return nil }
        var distance = UInt64(head >> 3 & 3)
        if distance == 2 {
            guard let explicit = reader.varint(), explicit >= 2 else { return nil }
            distance = explicit
        } else if distance == 3 {
            return nil
        }
        guard distance <= UInt64(index) else { return nil }
        let flags = Flags(rawValue: head & 7)
        // A leaf always has its body.
        guard !flags.contains(.leaf) || flags.contains(.hasBody) else { return nil }
        guard let revision = decodeRevision(&reader, kind: head >> 6, generation32: UInt32(generation)) else {
            return nil
        }
        return Node(
            revision: revision,
            parent: distance == 0 ? Node.noParent : Int32(truncatingIfNeeded: index - Int(distance)), flags: flags)
    }

    @inline(__always)
    private static func decodeRevision(_ reader: inout Reader, kind: UInt8, generation32: UInt32) -> RevisionID? {
        var length = kind == 0 ? 20 : 16
        if kind >= 2 {
            guard let explicit = reader.byte() else { return nil }
            length = Int(explicit)
        }
        guard let digest = reader.slice(length) else { return nil }
        if kind == 3 {
            let revision = RevisionID(generation32: generation32, digest: digest)
            return revision?.form == .hex ? nil : revision
        }
        if kind == 2, length == 0 || length == 20 || length == 16 || length > RevisionID.inlineBytesMax { return nil }
        return RevisionID(generation32: generation32, form: .hex, words: InlineWords(digest), longText: nil)
    }

    private static func appendVarint(_ value: UInt64, to output: inout [UInt8]) {
        var rest = value
        while rest >= 0x80 {
            output.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        output.append(UInt8(rest))
    }
}

extension RevisionID {
    /// Appends the digest in its compact form: the bytes that hex digits spell, or the text.
    func appendPacked(withLength: Bool, to output: inout [UInt8]) {
        if form == .longText, let longText {
            if withLength { output.append(UInt8(longText.count)) }
            output.append(contentsOf: longText)
            return
        }
        if withLength { output.append(inlineCount) }
        withUnsafeBytes(of: (word0.bigEndian, word1.bigEndian, word2.bigEndian)) { raw in
            output.append(contentsOf: UnsafeRawBufferPointer(rebasing: raw[..<Int(inlineCount)]))
        }
    }
}
