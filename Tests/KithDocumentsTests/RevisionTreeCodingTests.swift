import KithDocuments
import Testing

@Suite("The encoding of revision trees")
struct RevisionTreeCodingTests {
    private func tree() throws -> RevisionTree {
        var tree = RevisionTree()
        let hash = "0123456789abcdef0123456789abcdef01234567"
        try tree.add("3-\(hash) 2-\(hash) 1-\(hash)")
        try tree.add("4-00112233445566778899aabbccddeeff 3-\(hash)", isDeleted: true)
        try tree.add("3-x 2-Y 1-\(hash)")
        try tree.add("4000000000-abcdef 300-\(String(repeating: "q", count: 60)) 200-a")
        tree.dropBodiesOfAncestors()
        return tree
    }

    @Test("a tree comes back as it was, in about 22 bytes a revision")
    func roundTrip() throws {
        let tree = try tree()
        #expect(try RevisionTree(decoding: tree.encoded()) == tree)
        #expect(try RevisionTree(decoding: RevisionTree().encoded()) == RevisionTree())
        var chain = RevisionTree()
        for generation in UInt64(1)...100 {
            let hash = (0..<20).map { UInt8(truncatingIfNeeded: generation &* 31 &+ $0) }
            let newest = try RevisionID(generation: generation, hash: hash)
            try chain.insert(newest, history: chain.winner.map { [$0.revision] } ?? [])
        }
        #expect(chain.encoded().count == 2 + 100 * 21)
    }

    @Test("the format stays: bytes written by version 1")
    func fixed() throws {
        var tree = RevisionTree()
        try tree.add("2-b0b1 1-aa", isDeleted: true)
        #expect(tree.encoded() == [1, 2, 0xA0, 1, 0xAA, 0xAF, 2, 0xB0, 0xB1])
    }

    @Test("cut anywhere, or with anything behind it, it is refused")
    func cut() throws {
        let bytes = try tree().encoded()
        for end in 0..<bytes.count {
            expectRefusal(.damaged) { try RevisionTree(decoding: Array(bytes[..<end])) }
        }
        expectRefusal(.damaged) { try RevisionTree(decoding: bytes + [0]) }
    }

    @Test("any byte changed: refused, or another tree that has exactly these bytes")
    func changed() throws {
        let bytes = try tree().encoded()
        for place in bytes.indices {
            for value in UInt8.min...UInt8.max {
                var other = bytes
                other[place] = value
                guard let tree = try? RevisionTree(decoding: other) else { continue }
                #expect(tree.encoded() == other)
            }
        }
    }

    @Test(
        "encodings that nobody writes",
        arguments: [
            [], [0], [2, 0], [1], [1, 0x80, 0],  // version, count
            [1, 1],  // no node
            [1, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F],  // a count that the bytes cannot hold
            [1, 1, 0xA0, 1, 0xAA],  // no leaf
            [1, 1, 0xA4, 1, 0xAA],  // a leaf without body
            [1, 1, 0xA6, 0],  // an empty digest
            [1, 1, 0x86, 1, 1, 0xAA],  // generation step 1 written out
            [1, 1, 0x86, 0, 1, 0xAA],  // generation 0
            [1, 1, 0xAE, 1, 0xAA],  // the first one has a parent
            [1, 2, 0xA6, 1, 0xAA, 0xAE, 1, 0xBB],  // a leaf with a child
            [1, 2, 0xA2, 1, 0xAA, 0xB6, 1, 1, 0xBB],  // distance 1 written out
            [1, 2, 0xA2, 1, 0xAA, 0xB6, 2, 1, 0xBB],  // a parent before the first
            [1, 2, 0xA2, 1, 0xAA, 0xBE, 1, 0xBB],  // parent code 3
            [1, 2, 0xA6, 1, 0xBB, 0x86, 0, 1, 0xAA],  // not rising
            [1, 2, 0xA6, 1, 0xAA, 0x86, 0, 1, 0xAA],  // the same twice
            [1, 2, 0xA2, 1, 0xAA, 0x8E, 0, 1, 0xBB],  // a parent of the same generation
            [1, 1, 0xE6, 2, 0x61, 0x61],  // hex as text
            [1, 1, 0xE6, 1, 0x2C],  // a comma in a digest
            [1, 1, 0xA6, 21] + [UInt8](repeating: 7, count: 21),  // more bytes than are kept as hex
            [1, 1, 0xA6, 16] + [UInt8](repeating: 7, count: 16),  // 16 bytes in the long way
        ] as [[UInt8]])
    func refused(bytes: [UInt8]) {
        expectRefusal(.damaged) { try RevisionTree(decoding: bytes) }
    }

    @Test("random bytes never trap")
    func random() {
        var random = SeededGenerator(seed: 6)
        for _ in 0..<50_000 {
            var bytes: [UInt8] = [1, UInt8.random(in: 0...4, using: &random)]
            for _ in 0..<Int.random(in: 0...30, using: &random) {
                bytes.append(
                    random.chance(2)
                        ? UInt8.random(in: 0...3, using: &random) : UInt8.random(in: 0...255, using: &random))
            }
            if let tree = try? RevisionTree(decoding: bytes) { #expect(tree.encoded() == bytes) }
        }
    }
}
