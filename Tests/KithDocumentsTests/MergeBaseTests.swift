import KithDocuments
import Testing

@Suite("Bases of merges")
struct MergeBaseTests {
    private func tree(_ chains: [String]) throws -> RevisionTree {
        var tree = RevisionTree()
        for chain in chains { try tree.add(chain) }
        return tree
    }

    /// From where each leaf but the first parted from those before it.
    private func bases(_ tree: RevisionTree, _ leaves: [RevisionID]) -> [MergeGraph.Bases] {
        let graph = MergeGraph(tree)
        return leaves.indices.dropFirst().map { graph.bases(of: leaves[$0], mergedWith: Array(leaves[..<$0])) }
    }

    /// The text of the mark that says that a version was merged.
    private func mark(_ version: String, after parent: String) throws -> String {
        try RevisionID.mergeMark(of: revision(version), after: revision(parent)).description
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
            #expect(bases(tree, leaves).allSatisfy(\.isCertain) == isCertain, "\(chains)")
        }
    }

    @Test("a pruned tree is certain only of what parted after the cut")
    func pruned() throws {
        var tree = try tree(["6-g 5-f 4-e 3-d 2-b 1-a", "3-c 2-b", "6-h 5-f"])
        let leaves = tree.leaves.map(\.revision)
        #expect(bases(tree, leaves).map(\.isCertain) == [true, true])
        tree.prune(toDepth: 2)
        #expect(bases(tree, leaves).map(\.isCertain) == [true, false])
        #expect(bases(tree, leaves)[0].revisions == [revision("5-f")])
    }

    @Test("each of several leaves parted from those before it at the latest revision that it shares with any of them")
    func severalLeaves() throws {
        let tree = try tree(["4-d 3-c 2-b 1-a", "3-e 2-b", "2-f 1-a", "1-z"])
        let leaves = tree.leaves.map(\.revision)
        #expect(leaves.map(\.description) == ["4-d", "3-e", "2-f", "1-z"])
        #expect(bases(tree, leaves).map(\.revisions) == [[revision("2-b")], [revision("1-a")], []])
        #expect(MergeGraph(tree).commonAncestors(of: Array(leaves.dropLast())).revisions == [revision("1-a")])
        let stranger = MergeGraph(tree).bases(of: revision("9-q"), mergedWith: [revision("2-f")])
        let other = MergeGraph(tree).bases(of: revision("2-f"), mergedWith: [revision("9-q")])
        #expect(other.revisions == [] && !other.isCertain)
        #expect(stranger.revisions == [] && !stranger.isCertain)
    }

    // MARK: Merge marks

    @Test("a mark says which version was merged into which, and nothing else is taken for one")
    func marks() throws {
        let version = "258-0123456789abcdef0123456789abcdef01234567"
        let mark = try RevisionID.mergeMark(of: revision(version), after: revision("299-aa"))
        #expect(mark.description == "300-6d6572676533f1cd4c18e37aff6f0edd0c94ef64")
        #expect(try mark == RevisionID(parsing: mark.description))
        #expect(mark.isMergeMark)
        for other in [version, "3-6d65726765", "3-6d65726766\(mark.digest.dropFirst(10))", "3-\(mark.digest)00"] {
            #expect(!revision(other).isMergeMark, "\(other)")
        }
        let others = try [("258-A", "299-aa"), ("258-a", "299-aa"), ("257-a", "299-aa"), ("258-a", "299-ab")].map {
            try RevisionID.mergeMark(of: revision($0), after: revision($1))
        }
        #expect(Set(others + [mark]).count == 5)
        expectRefusal(.badName) { try RevisionID.mergeMark(of: revision("1-a"), after: revision("4294967295-a")) }
    }

    @Test("a version that was merged parted from the merged revision where it was merged, in chains too")
    func merged() throws {
        // 5-m is 2-d, merged with 2-b and 2-c, which have gone on.
        let b = try mark("2-b", after: "2-d")
        let c = try mark("2-c", after: b)
        let tree = try tree(["5-m \(c) \(b) 2-d 1-a", "3-e 2-b 1-a", "4-f 3-f 2-c 1-a", "3-b 2-b"])
        let graph = MergeGraph(tree)
        func newest(_ version: String, _ others: String...) -> [RevisionID] {
            let bases = graph.bases(of: revision(version), mergedWith: others.map { revision($0) })
            #expect(bases.isCertain)
            return bases.revisions
        }
        #expect(newest("3-e", "5-m") == [revision("2-b")])
        #expect(newest("4-f", "5-m") == [revision("2-c")])
        #expect(newest("3-b", "5-m", "4-f", "3-e") == [revision("2-b")])
        #expect(newest("4-f", "3-e") == [revision("1-a")])
        func common(_ versions: String...) -> [RevisionID] {
            graph.commonAncestors(of: versions.map { revision($0) }).revisions
        }
        #expect(common("5-m", "3-e", "3-b") == [revision("2-b")])
        #expect(common("5-m", "3-e", "4-f") == [revision("1-a")])
        // The merged revision was merged into what one of them became.
        var later = tree
        try later.add("7-x \(mark("5-m", after: "5-f")) 5-f 4-f 3-f 2-c 1-a")
        let bases = MergeGraph(later).bases(of: revision("7-x"), mergedWith: [revision("3-e")])
        #expect(bases.revisions == [revision("2-b")] && bases.isCertain)
    }

    @Test("versions that have merged the same others parted from all of these")
    func crissCross() throws {
        let tree = try tree([
            "5-m \(mark("2-b", after: "3-c")) 3-c 2-c 1-a", "5-n \(mark("2-c", after: "3-b")) 3-b 2-b 1-a",
        ])
        let bases = MergeGraph(tree).bases(of: revision("5-m"), mergedWith: [revision("5-n")])
        #expect(bases.isCertain)
        #expect(bases.revisions == [revision("2-c"), revision("2-b")])
    }

    @Test("one version merged into two, of one generation, is in each of them and neither in the other")
    func mergedIntoTwo() throws {
        let tree = try tree(["4-m \(mark("2-b", after: "2-c")) 2-c 1-a", "4-n \(mark("2-b", after: "2-d")) 2-d 1-a"])
        let bases = MergeGraph(tree).bases(of: revision("4-m"), mergedWith: [revision("4-n")])
        #expect(bases.revisions == [revision("1-a")] && !bases.isCertain)
        var whole = tree
        try whole.add("3-b 2-b 1-a", isDeleted: true)
        let known = MergeGraph(whole).bases(of: revision("4-m"), mergedWith: [revision("4-n")])
        #expect(known.revisions == [revision("2-b")] && known.isCertain)
    }

    @Test("merges that begin alike share marks, and parted from what was merged there")
    func sharedMarks() throws {
        let b = try mark("2-b", after: "2-d")
        let c = try mark("2-c", after: b)
        let chains = ["4-m \(b) 2-d 1-a", "5-n \(c) \(b) 2-d 1-a", "3-b 2-b 1-a", "3-c 2-c 1-a"]
        let bases = try MergeGraph(tree(chains)).bases(of: revision("4-m"), mergedWith: [revision("5-n")])
        #expect(bases.isCertain)
        #expect(bases.revisions == [revision("2-d"), revision("2-b")])
        let other = try MergeGraph(tree(chains.filter { $0 != "3-b 2-b 1-a" }))
        #expect(!other.bases(of: revision("4-m"), mergedWith: [revision("5-n")]).isCertain)
    }

    @Test(
        "what was merged and is not known makes the bases uncertain, above them, and where it can descend from the version"
    )
    func unknownMerged() throws {
        let tree = try tree([
            "5-m \(mark("3-b", after: "3-c")) 3-c 2-c 1-a", "2-d 1-a", "4-e \(mark("2-f", after: "2-g")) 2-g 1-a",
        ])
        func isCertain(_ version: String, _ other: String) -> Bool {
            MergeGraph(tree).bases(of: revision(version), mergedWith: [revision(other)]).isCertain
        }
        // 3-b can be a child of 2-d.
        #expect(!isCertain("2-d", "5-m"))
        // 2-f cannot: it has the generation of 2-d, and is another.
        #expect(isCertain("2-d", "4-e"))
        // Both can have merged the same.
        #expect(!isCertain("4-e", "5-m"))
        var later = try self.tree(["4-m \(mark("2-b", after: "2-c")) 2-c 1-a", "2-d 1-a"])
        try later.add("5-n 4-m")
        try later.add("5-o 4-m")
        let bases = MergeGraph(later).bases(of: revision("5-n"), mergedWith: [revision("5-o")])
        #expect(MergeGraph(later).commonAncestors(of: [revision("5-n"), revision("5-o")]).revisions == bases.revisions)
        #expect(bases.revisions == [revision("4-m")] && bases.isCertain)
    }

    @Test("marks that lie, of what comes later or of each other, lead nowhere and round no circle")
    func lies() throws {
        let own = try mark("9-z", after: "1-a")
        let tree = try tree([
            "3-b \(mark("3-c", after: "1-a")) 1-a", "3-c \(own) 1-a", "3-d \(mark(own, after: "1-a")) 1-a",
        ])
        let graph = MergeGraph(tree)
        for version in ["3-b", "3-c", "3-d"] {
            for other in ["3-b", "3-c", "3-d"] where other != version {
                #expect(!graph.bases(of: revision(version), mergedWith: [revision(other)]).isCertain)
            }
        }
    }

    @Test("a mark that stands elsewhere than where it was made leads nowhere")
    func misplaced() throws {
        let good = try mark("2-b", after: "2-c")
        let chains = ["4-m \(good) 2-c 1-a", "3-b 2-b 1-a"]
        let whole = try MergeGraph(tree(chains)).bases(of: revision("3-b"), mergedWith: [revision("4-m")])
        #expect(whole.isCertain && whole.revisions == [revision("2-b")])
        let moved = try MergeGraph(tree(["4-m \(good) 2-d 1-a", "3-b 2-b 1-a"]))
        #expect(!moved.bases(of: revision("3-b"), mergedWith: [revision("4-m")]).isCertain)
    }

    @Test("what versions come from that both have, and which of them bring edits")
    func origins() throws {
        // 4-m is 2-c with 2-b; 5-n is what 2-b became, with 2-c; 7-o is both.
        let (c, b) = (try mark("2-b", after: "2-c"), try mark("2-c", after: "3-b"))
        let o = try mark("4-m", after: "5-n")
        let tree = try tree([
            "5-e 4-m \(c) 2-c 1-a", "7-o \(o) 5-n \(b) 3-b 2-b 1-a", "5-n \(b) 3-b 2-b 1-a",
        ])
        let graph = MergeGraph(tree)
        let bases = graph.bases(of: revision("5-e"), mergedWith: [revision("7-o")])
        #expect(bases.revisions == [revision("4-m")] && bases.isCertain && bases.bringsEdits)
        #expect(bases.origins.others == [revision("2-c"), revision("2-b")])
        #expect(bases.origins.version == [] && bases.areOriginsKnown)
        #expect(!graph.bases(of: revision("4-m"), mergedWith: [revision("5-n")]).bringsEdits)
        #expect(graph.bases(of: revision("5-n"), mergedWith: [revision("4-m")]).bringsEdits)
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
        let merged = try AttachmentList.merge(base: base, winner: winner, loser: loser).attachments
        #expect(merged.hasSameContent(as: expected), "\(merged.map(\.name))")
        #expect(!merged.hasSameContent(as: winner))
        // Again with either side changes nothing.
        for side in [winner, loser] {
            let again = try AttachmentList.merge(base: side, winner: merged, loser: side).attachments
            #expect(again.hasSameContent(as: expected))
        }
    }
}
