import KithDocuments
import Testing

@Suite("Bases of merges")
struct MergeBaseTests {
    private func tree(_ chains: [String]) throws -> RevisionTree {
        var tree = RevisionTree()
        for chain in chains { try tree.add(chain) }
        return tree
    }

    @Test(
        "whether it is certain from where leaves parted",
        arguments: [
            (["2-b 1-a", "2-c 1-a"], true),
            // Two documents of one name, made apart.
            (["1-a", "1-b"], true),
            (["3-c 2-b 1-a", "2-z 1-y"], true),
            // A branch of which the beginning is not known can have begun anywhere.
            (["5-c 4-b", "5-d 4-e"], false),
            (["3-c 2-b", "1-a"], false),
            (["5-c 4-b", "5-d 4-b"], true),
            // Generations that are missing may have been those of the other branch.
            (["5-c 1-a", "5-d 4-b 3-b 2-b 1-a"], false),
            (["5-c 4-c 3-c 2-c 1-a", "3-d 1-a"], false),
            // Below the base nothing matters.
            (["9-c 8-b 3-a", "9-d 8-b"], true),
            // The third parted before the gap.
            (["9-c 8-b 3-a", "9-d 8-b", "4-e 3-a"], false),
            (["4-d 3-c 2-b 1-a", "3-e 2-b", "2-f 1-a"], true),
            (["4-d 3-c 2-b 1-a", "3-e 2-b", "2-f 1-a", "1-z"], true),
            (["4-d 3-c 2-b 1-a", "3-e 2-b", "3-f 2-f"], false),
        ])
    func certainty(chains: [String], isCertain: Bool) throws {
        for chains in [chains, chains.reversed()] {
            let tree = try tree(chains)
            let leaves = tree.leaves.map(\.revision)
            #expect(leaves.count == chains.count)
            #expect(tree.areMergeBasesCertain(of: leaves) == isCertain, "\(chains)")
        }
    }

    @Test("a pruned tree is certain only of what parted after the cut")
    func pruned() throws {
        var tree = try tree(["6-g 5-f 4-e 3-d 2-b 1-a", "3-c 2-b", "6-h 5-f"])
        let leaves = tree.leaves.map(\.revision)
        #expect(tree.areMergeBasesCertain(of: leaves))
        tree.prune(toDepth: 2)
        #expect(!tree.areMergeBasesCertain(of: leaves))
        #expect(tree.areMergeBasesCertain(of: Array(leaves.prefix(2))))
        #expect(tree.mergeBases(of: Array(leaves.prefix(2))) == [nil, revision("5-f")])
    }

    // MARK: Attachments

    private func list(_ entries: [String: (UInt8, String)]) throws -> AttachmentList {
        try AttachmentList(
            entries.map { name, content in
                try DocumentAttachment(
                    name: name, digest: AttachmentDigest(bytes: [UInt8](repeating: content.0, count: 20)), length: 1,
                    contentType: content.1, revpos: UInt64.random(in: 1...9))
            })
    }

    @Test("attachments follow the side that changed them; a change beats a removal; what clashes is the winner's")
    func attachments() throws {
        let base = try list([
            "same": (1, "a/a"), "winner": (1, "a/a"), "loser": (1, "a/a"), "both": (1, "a/a"), "type": (1, "a/a"),
            "gone in winner": (1, "a/a"), "gone in loser": (1, "a/a"), "kept by change": (1, "a/a"),
            "kept by change too": (1, "a/a"), "gone in both": (1, "a/a"),
        ])
        let winner = try list([
            "same": (1, "a/a"), "winner": (2, "a/a"), "loser": (1, "a/a"), "both": (2, "a/a"), "type": (1, "a/a"),
            "gone in loser": (1, "a/a"), "kept by change": (2, "a/a"), "new": (4, "a/a"), "new in winner": (5, "a/a"),
        ])
        let loser = try list([
            "same": (1, "a/a"), "winner": (1, "a/a"), "loser": (3, "a/a"), "both": (3, "a/a"), "type": (1, "b/b"),
            "gone in winner": (1, "a/a"), "kept by change too": (3, "a/a"), "new": (6, "a/a"),
            "new in loser": (7, "a/a"),
        ])
        let expected = try list([
            "same": (1, "a/a"), "winner": (2, "a/a"), "loser": (3, "a/a"), "both": (2, "a/a"), "type": (1, "b/b"),
            "kept by change": (2, "a/a"), "kept by change too": (3, "a/a"), "new": (4, "a/a"),
            "new in winner": (5, "a/a"), "new in loser": (7, "a/a"),
        ])
        let merged = try AttachmentList.merge(base: base, winner: winner, loser: loser)
        #expect(merged.hasSameContent(as: expected), "\(merged.map(\.name))")
        #expect(!merged.hasSameContent(as: winner))
        // Again with either side changes nothing.
        for side in [winner, loser] {
            let again = try AttachmentList.merge(base: side, winner: merged, loser: side)
            #expect(again.hasSameContent(as: expected))
        }
    }
}
