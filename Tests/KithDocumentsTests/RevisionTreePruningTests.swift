import KithDocuments
import Testing

@Suite("Pruned revisions stay known")
struct RevisionTreePruningTests {
    private func chain(_ generations: ClosedRange<UInt64>, depth: Int) throws -> RevisionTree {
        var tree = RevisionTree()
        for generation in generations {
            let parent = tree.winner.map { [$0.revision] } ?? []
            try tree.insert(RevisionID(generation: generation, digest: "aa"), history: parent)
        }
        tree.prune(toDepth: depth)
        return tree
    }

    @Test("a peer that lags behind offers a revision that was pruned: it is known, and no second leaf")
    func offered() throws {
        var tree = try chain(1...30, depth: 5)
        #expect(tree.count == 5 && tree.prunedCount == 25)
        let before = tree
        for generation in 1...25 {
            let old = revision("\(generation)-aa")
            #expect(tree.contains(old) && tree.isPruned(old) && !tree.isLeaf(old) && tree[old] == nil)
            #expect(try tree.insert(old) == .alreadyPresent)
        }
        #expect(try tree.add("20-aa 19-aa 18-aa") == .alreadyPresent)
        #expect(tree == before)
        #expect(!tree.isPruned(revision("26-aa")) && !tree.isPruned(revision("40-aa")))
        for other in ["25-ab", "25-a", "25-aaaa", "25-AA", "1-bb"] { #expect(!tree.contains(revision(other))) }
    }

    @Test("the peer's leaf that was pruned here goes into the history, so that it learns what became of it")
    func proof() throws {
        let tree = try chain(1...30, depth: 3)
        let newest = revision("30-aa")
        #expect(
            tree.history(of: newest, including: [revision("7-aa")]).map(\.description) == ["29-aa", "28-aa", "7-aa"])
        #expect(
            tree.history(of: newest, including: ["3-aa", "99-aa", "8-bb", "30-aa", "28-aa", "9-aa"].map(revision))
                == ["29-aa", "28-aa", "9-aa", "3-aa"].map(revision))
        #expect(tree.history(of: newest, including: []) == tree.history(of: newest))
        #expect(tree.history(of: revision("7-aa"), including: [revision("3-aa")]) == [])

        var peer = try chain(1...7, depth: 100)
        try peer.insert(newest, history: tree.history(of: newest, including: [revision("7-aa")]))
        #expect(peer.leafTexts == ["30-aa"])
        #expect(peer.historyTexts("30-aa").prefix(4) == ["29-aa", "28-aa", "7-aa", "6-aa"])
    }

    @Test("histories do not bring pruned revisions back into the tree")
    func histories() throws {
        var tree = try chain(1...30, depth: 5)
        #expect(
            try tree.add("31-aa 30-aa 29-aa 28-aa 27-aa 26-aa 25-aa 24-aa 1-aa")
                == .inserted(parent: revision("30-aa"), parentWasLeaf: true))
        #expect(tree.count == 6 && tree.prunedCount == 25)
        // A branch from a revision that was pruned is a branch.
        #expect(try tree.add("26-bb 25-aa 24-aa") == .inserted(parent: nil, parentWasLeaf: false))
        #expect(tree.leafTexts == ["31-aa", "26-bb"])
        #expect(tree.count == 7)
        // Behind a pruned revision all is superseded: what is not known is noted, a leaf ceases to be one.
        try tree.add("10-cc 9-cc")
        #expect(tree.leafTexts == ["31-aa", "26-bb", "10-cc"])
        #expect(try tree.add("31-aa 25-aa 10-cc 8-dd") == .historyExtended(leavesChanged: true))
        #expect(try tree.add("31-aa 25-aa 10-cc 8-dd") == .alreadyPresent)
        #expect(tree.leafTexts == ["31-aa", "26-bb"] && tree.isPruned(revision("8-dd")))
        #expect(try tree.add("25-aa 8-ee") == .historyExtended(leavesChanged: false))
        #expect(tree.isPruned(revision("8-ee")))
        #expect(try RevisionTree(decoding: tree.encoded()) == tree)
    }

    @Test("which leaf supersedes a revision, and a history that says so")
    func supersession() throws {
        var tree = try chain(1...30, depth: 3)
        #expect(tree.supersession(of: revision("30-aa"))?.leaf == nil)
        #expect(tree.supersession(of: revision("30-bb"))?.leaf == nil)
        #expect(tree.supersession(of: revision("29-aa"))?.history == [revision("29-aa")])
        let pruned = try #require(tree.supersession(of: revision("4-aa")))
        #expect(pruned.leaf == revision("30-aa") && pruned.history == ["29-aa", "28-aa", "4-aa"].map(revision))
        // A root of its own that ends below the pruned one cannot be what supersedes it.
        try tree.add("3-zz 2-zz 1-zz")
        #expect(tree.supersession(of: revision("4-aa"))?.leaf == revision("30-aa"))
        #expect(tree.supersession(of: revision("2-zz"))?.leaf == revision("3-zz"))
        // Where every leaf knows another revision of that generation, the claim stands alone.
        var full = RevisionTree()
        try full.add("3-a 2-a 1-a")
        try full.add("3-a 2-x")
        let contradiction = try #require(full.supersession(of: revision("2-x")))
        #expect(contradiction.leaf == revision("3-a") && contradiction.history == [revision("2-x")])
    }

    @Test("the oldest are dropped beyond the limit, and histories that name them again change nothing")
    func limit() throws {
        let limit = UInt64(DocumentLimits.prunedRevisionsMax)
        var tree = try chain(1...(limit + 10), depth: 5)
        #expect(tree.prunedCount == Int(limit))
        #expect(!tree.contains(revision("5-aa")) && tree.contains(revision("6-aa")))
        let encoded = tree.encoded()
        #expect(encoded.count < 8 * Int(limit) + 100)
        #expect(try RevisionTree(decoding: encoded) == tree)
        let history = try (1..<(limit + 10)).reversed().map { try RevisionID(generation: $0, digest: "aa") }
        #expect(try tree.insert(RevisionID(generation: limit + 10, digest: "aa"), history: history) == .alreadyPresent)
        #expect(try tree.add("100-aa 99-bb") == .historyExtended(leavesChanged: false))
        #expect(tree.prunedCount == Int(limit) && !tree.contains(revision("6-aa")))
        #expect(try tree.add("100-aa 99-bb") == .alreadyPresent)
    }

    @Test("purging a leaf forgets what was pruned: only the leaf that is gone may have superseded it")
    func purging() throws {
        var tree = try chain(1...30, depth: 5)
        try tree.add("3-bb 2-bb 1-bb")
        #expect(tree.leafTexts == ["30-aa", "3-bb"])
        let purgedNoLeaf = tree.purge(revision("20-aa"))
        #expect(!purgedNoLeaf && tree.prunedCount == 25)
        let purgedLeaf = tree.purge(revision("30-aa"))
        #expect(purgedLeaf)
        #expect(tree.leafTexts == ["3-bb"] && tree.prunedCount == 0)
        #expect(try RevisionTree(decoding: tree.encoded()) == tree)
        #expect(tree.supersession(of: revision("2-aa"))?.leaf == nil)
        #expect(try tree.add("20-aa 19-aa") == .inserted(parent: revision("19-aa"), parentWasLeaf: false))
        #expect(tree.leafTexts == ["20-aa", "3-bb"])
    }

    @Test("merge marks take no room of revisions; a peer that invents many gets no room for them either")
    func marks() throws {
        func chain(marksEach count: Int) throws -> RevisionTree {
            var tree = RevisionTree()
            var history: [RevisionID] = []
            for _ in 0..<10 {
                for number in 0..<count where !history.isEmpty {
                    history.insert(try .mergeMark(of: revision("1-\(number)"), after: history[0]), at: 0)
                }
                let generation = (history.first?.generation ?? 0) + 1
                history.insert(try RevisionID(generation: generation, digest: "aa"), at: 0)
            }
            try tree.insert(history[0], history: Array(history.dropFirst()))
            tree.prune(toDepth: 4)
            return tree
        }
        let tree = try chain(marksEach: 2)
        let kept = tree.history(of: tree.winner!.revision)
        #expect(kept.map(\.isMergeMark) == [true, true, false, true, true, false, true, true, false])
        #expect(try chain(marksEach: 0).count == 4)
        // One revision, so many marks, and three of those beyond.
        #expect(try chain(marksEach: 500).count == 1 + DocumentLimits.marksKeptMax + 3)
        #expect(try RevisionTree(decoding: tree.encoded()) == tree)
    }

    @Test("pruning bit by bit and at once comes to the same")
    func bitByBit() throws {
        var tree = RevisionTree()
        for generation in UInt64(1)...200 {
            try tree.insert(
                RevisionID(generation: generation, digest: "aa"), history: tree.winner.map { [$0.revision] } ?? [])
            tree.prune(toDepth: Int(generation % 7) + 5)
        }
        tree.prune(toDepth: 5)
        #expect(tree == (try chain(1...200, depth: 5)))
    }

    @Test("two nodes with any limits: after each exchange both have the leaves of the whole tree", arguments: 0..<40)
    func twoPeers(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var run = try PruningRun(limits: (0..<2).map { _ in random.pick([1, 3, 20]) }, correctsPeers: false)
        for _ in 0..<Int.random(in: 5...25, using: &random) {
            for _ in 0..<Int.random(in: 1...12, using: &random) { try run.edit(&random) }
            try run.exchange(0, 1)
            for peer in run.peers { try #require(peer.tree.leafTexts == run.leafTexts, "seed \(seed)") }
        }
    }

    @Test("three nodes that meet now and then: no leaf is lost, and no false one stays", arguments: 0..<40)
    func threePeers(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed + 1_000)
        var run = try PruningRun(limits: (0..<3).map { _ in random.pick([1, 3, 20]) }, correctsPeers: true)
        for _ in 0..<Int.random(in: 5...25, using: &random) {
            for _ in 0..<Int.random(in: 1...12, using: &random) { try run.edit(&random) }
            let (first, second) = random.pick([(0, 1), (1, 2), (2, 0)])
            try run.exchange(first, second)
            for peer in run.peers {
                let known = run.leaves.filter { peer.tree.contains($0) }
                try #require(known.filter { !peer.tree.isLeaf($0) } == [], "seed \(seed): a leaf was lost")
            }
        }
        for _ in 0..<4 { for (first, second) in [(0, 1), (1, 2), (2, 0)] { try run.exchange(first, second) } }
        for peer in run.peers { #expect(peer.tree.leafTexts == run.leafTexts, "seed \(seed)") }
    }
}
