import KithDocuments
import Testing

@Suite("Many questions about one revision tree")
struct RevisionIndexTests {
    @Test("an index answers as its tree does, whatever the tree", arguments: 1...6)
    func sameAnswers(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<20 {
            var run = try PruningRun(limits: [1_000, 3, 1], correctsPeers: random.chance(2))
            for _ in 0..<40 {
                try run.edit(&random)
                if random.chance(3) { try run.exchange(0, 1 + Int.random(in: 0..<2, using: &random)) }
            }
            let all = run.peers.flatMap { $0.tree.entries.map(\.revision) }
            for tree in run.peers.map(\.tree) {
                var index = RevisionIndex(tree)
                #expect(index.leaves == tree.leaves.map(\.revision))
                for revision in all {
                    #expect(index.leaf(superseding: revision) == tree.supersession(of: revision)?.leaf)
                    let ancestors = index.possibleAncestors(of: revision, limit: 5)
                    #expect(ancestors == tree.possibleAncestors(of: revision, limit: 5))
                    #expect(
                        index.history(of: revision, including: ancestors)
                            == tree.history(of: revision, including: ancestors))
                }
            }
        }
    }

    /// What it takes to ask about each leaf of a document, for each revision of it.
    private func visited(leaves count: Int) throws -> Double {
        var tree = RevisionTree()
        var old: [RevisionID] = []
        for number in 0..<count {
            let digest = String(1_000_000 + number, radix: 16)
            let trunk = revision("2-bb")
            // Half of them are ended, so their revisions before are superseded.
            let first = try RevisionID(generation: 3, digest: digest)
            try tree.insert(first, history: [trunk, revision("1-aa")])
            if number % 2 == 0 {
                try tree.insert(RevisionID(generation: 4, digest: digest), history: [first], isDeleted: true)
                old.append(first)
            }
        }
        var index = RevisionIndex(tree)
        for leaf in index.leaves {
            _ = index.possibleAncestors(of: leaf, limit: 10)
            _ = index.history(of: leaf, including: [revision("2-bb"), revision("1-aa")])
        }
        for revision in old { #expect(index.leaf(superseding: revision)?.generation == 4) }
        return Double(index.visited) / Double(tree.count)
    }

    @Test("asking about each leaf of a document costs the same for each, however many there are")
    func linear() throws {
        let few = try visited(leaves: 50)
        let many = try visited(leaves: 2_000)
        #expect(few > 1)
        #expect(many < few * 1.5, "\(few) and \(many) for each revision")
    }
}
