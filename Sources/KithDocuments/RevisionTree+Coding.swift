// The encoding, version 1:
//
//   byte    version, 1
//   varint  number of nodes
//   nodes, rising by revision ID, each
//     byte    bits 0-2 flags (deleted, has body, leaf); bits 3-4 parent (0 none, 1 the node before, 2 a number follows);
//             bit 5 generation (1: the generation before and 1; 0: a number follows); bits 6-7 digest (0: 20 bytes of
//             hex, 1: 16 bytes of hex, 2: other hex with a length byte, 3: text with a length byte)
//     varint  how much the generation is above the one before (only bit 5 = 0; never 1)
//     varint  how many nodes before this one the parent is (only parent = 2; at least 2)
//     bytes   digest
//
// A varint is little-endian base 128, shortest form. Nothing may follow the last node. Since nodes are in order and every
// choice is forced, a tree has one encoding, and a decoder that re-encodes gives the same bytes.
extension RevisionTree {
    private static let version: UInt8 = 1

    /// The tree as bytes, about 22 for each revision. Equal trees give equal bytes.
    public func encoded() -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(4 + nodes.count * 22)
        output.append(Self.version)
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
        return output
    }

    /// Reads what `encoded()` wrote.
    ///
    /// - Throws: `damaged` when the bytes are not exactly such an encoding, or of a later version.
    public init(decoding bytes: UnsafeRawBufferPointer) throws(KithError) {
        var reader = Reader(bytes: bytes)
        guard let nodes = Self.decode(&reader) else {
            throw KithError(.damaged, "a document's revision tree is damaged at byte \(reader.position + 1)")
        }
        self.nodes = nodes
    }

    /// Reads what `encoded()` wrote.
    ///
    /// - Throws: `damaged` when the bytes are not exactly such an encoding, or of a later version.
    public init(decoding bytes: [UInt8]) throws(KithError) {
        var position = 0
        let nodes = bytes.withUnsafeBytes { buffer in
            var reader = Reader(bytes: buffer)
            defer { position = reader.position }
            return Self.decode(&reader)
        }
        guard let nodes else {
            throw KithError(.damaged, "a document's revision tree is damaged at byte \(position + 1)")
        }
        self.nodes = nodes
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

    private static func decode(_ reader: inout Reader) -> [Node]? {
        guard reader.byte() == version, let count = reader.varint() else { return nil }
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
        guard reader.position == reader.bytes.count, nodes.last?.flags.contains(.leaf) ?? true else { return nil }
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
