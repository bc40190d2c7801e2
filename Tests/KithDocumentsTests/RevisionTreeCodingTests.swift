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

    private func prunedTree() throws -> RevisionTree {
        var tree = try tree()
        try tree.add("301-aa 300-bb 299-cc 200-cc")
        tree.prune(toDepth: 1)
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

    @Test("the format stays: bytes written by version 2, in which a revision was pruned")
    func fixedWithPruned() throws {
        var tree = RevisionTree()
        try tree.add("300-b0b1 200-aa")
        tree.prune(toDepth: 1)
        #expect(
            tree.encoded() == [
                2, 1, 0x86, 0xAC, 2, 2, 0xB0, 0xB1, 1, 0xC8, 1, 0x9C, 0x43, 0x07, 0xB5, 0x45, 0x96, 0xBF,
            ])
        let other = try prunedTree()
        #expect(other.count == 4 && other.prunedCount == 9)
        #expect(try RevisionTree(decoding: other.encoded()) == other)
    }

    @Test("cut anywhere, or with anything behind it, it is refused", arguments: [false, true])
    func cut(isPruned: Bool) throws {
        let bytes = try (isPruned ? prunedTree() : tree()).encoded()
        for end in 0..<bytes.count {
            expectRefusal(.damaged) { try RevisionTree(decoding: Array(bytes[..<end])) }
        }
        expectRefusal(.damaged) { try RevisionTree(decoding: bytes + [0]) }
    }

    @Test("any byte changed: refused, or another tree that has exactly these bytes", arguments: [false, true])
    func changed(isPruned: Bool) throws {
        let bytes = try (isPruned ? prunedTree() : tree()).encoded()
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
            [], [0], [2, 0], [3, 0], [1], [1, 0x80, 0],  // version, count
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

    @Test(
        "pruned revisions that nobody writes",
        arguments: [
            [], [0], [0x80, 0],  // none, or no number of them
            [1, 1, 0, 0, 0, 0, 0, 0],  // one byte too few
            [2, 1, 0, 0, 0, 0, 0, 0, 1],  // the second is missing
            [1, 0, 0, 0, 0, 0, 0, 0, 1],  // generation 0
            [1, 2, 0, 0, 0, 0, 0, 0, 1],  // not below the newest leaf
            [2, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1],  // twice
            [2, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 255],  // not rising
            [0xA1, 0x1F, 1, 0, 0, 0, 0, 0, 0, 1],  // more than are kept
            [1, 1, 0, 0, 0, 0, 0, 0, 1, 0],  // something behind
        ] as [[UInt8]])
    func prunedRefused(pruned: [UInt8]) throws {
        let leaf: [UInt8] = [2, 1, 0x86, 2, 1, 0xAA]
        #expect(try RevisionTree(decoding: leaf + [1, 1, 0, 0, 0, 0, 0, 0, 1]).prunedCount == 1)
        expectRefusal(.damaged) { try RevisionTree(decoding: leaf + pruned) }
        // Without a leaf above it nothing was pruned.
        expectRefusal(.damaged) { try RevisionTree(decoding: [2, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1]) }
    }

    @Test("random bytes never trap")
    func random() {
        var random = SeededGenerator(seed: 6)
        for _ in 0..<50_000 {
            var bytes: [UInt8] = [random.chance(2) ? 1 : 2, UInt8.random(in: 0...4, using: &random)]
            for _ in 0..<Int.random(in: 0...30, using: &random) {
                bytes.append(
                    random.chance(2)
                        ? UInt8.random(in: 0...3, using: &random) : UInt8.random(in: 0...255, using: &random))
            }
            if let tree = try? RevisionTree(decoding: bytes) { #expect(tree.encoded() == bytes) }
        }
    }
}
