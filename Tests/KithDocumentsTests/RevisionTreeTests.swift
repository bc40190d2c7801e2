import KithDocuments
import Testing

/// Makes revision IDs from their text; the tests' own texts are legal.
func revision(_ text: String) -> RevisionID { try! RevisionID(parsing: text) }

extension RevisionTree {
    /// Inserts the first of these revisions with the others as its history.
    @discardableResult
    mutating func add(_ chain: String, isDeleted: Bool = false) throws -> Insertion {
        let revisions = chain.split(separator: " ").map { revision(String($0)) }
        return try insert(revisions[0], history: Array(revisions.dropFirst()), isDeleted: isDeleted)
    }

    var leafTexts: [String] { leaves.map { $0.isDeleted ? "(\($0.revision))" : $0.revision.description } }
    func historyTexts(_ text: String) -> [String] { history(of: revision(text)).map(\.description) }
}

@Suite("Revision trees")
struct RevisionTreeTests {
    @Test("a document is made, edited, deleted and comes back")
    func life() throws {
        var tree = RevisionTree()
        #expect(tree.winner == nil && tree.isEmpty)
        #expect(try tree.add("1-a") == .inserted(parent: nil, parentWasLeaf: false))
        #expect(try tree.add("2-b 1-a") == .inserted(parent: revision("1-a"), parentWasLeaf: true))
        #expect(try tree.add("3-c 2-b", isDeleted: true) == .inserted(parent: revision("2-b"), parentWasLeaf: true))
        #expect(tree.winner?.isDeleted == true)
        #expect(tree.liveLeafCount == 0)
        #expect(try tree.add("4-d 3-c") == .inserted(parent: revision("3-c"), parentWasLeaf: true))
        #expect(tree.leafTexts == ["4-d"])
        #expect(tree.historyTexts("4-d") == ["3-c", "2-b", "1-a"])
        #expect(tree.history(of: revision("4-d"), limit: 2) == [revision("3-c"), revision("2-b")])
        #expect(tree[revision("3-c")]?.isDeleted == true)
        #expect(try tree.add("4-d 3-c 2-b 1-a") == .alreadyPresent)
        #expect(try tree.add("2-b") == .alreadyPresent)
    }

    @Test("a branch leaves the other leaf where it is")
    func branches() throws {
        var tree = RevisionTree()
        try tree.add("2-b 1-a")
        #expect(try tree.add("2-c 1-a") == .inserted(parent: revision("1-a"), parentWasLeaf: false))
        #expect(tree.leafTexts == ["2-c", "2-b"])
        #expect(tree.leafCount == 2 && tree.liveLeafCount == 2)
        try tree.add("1-z")
        #expect(tree.parent(of: revision("2-c")) == revision("1-a"))
        #expect(tree.parent(of: revision("1-a")) == nil)
        #expect(tree.parent(of: revision("9-x")) == nil)
    }

    @Test("ancestors that are missing are added without a body")
    func missingAncestors() throws {
        var tree = RevisionTree()
        #expect(try tree.add("3-c 2-b 1-a") == .inserted(parent: revision("2-b"), parentWasLeaf: false))
        #expect(tree.count == 3)
        #expect(tree[revision("3-c")]?.hasBody == true)
        #expect(tree[revision("2-b")]?.hasBody == false)
        #expect(tree.contains(revision("1-a")))
        #expect(!tree.isLeaf(revision("2-b")))
        #expect(try tree.add("2-b 1-a") == .alreadyPresent)
        #expect(tree.leafTexts == ["3-c"])
    }

    @Test("strange histories: roots of their own, one digest at two generations, jumps")
    func strangeHistories() throws {
        var tree = RevisionTree()
        try tree.add("1-a")
        #expect(try tree.add("2-c") == .inserted(parent: nil, parentWasLeaf: false))
        try tree.add("3-c 2-a")
        #expect(tree.historyTexts("3-c") == ["2-a"])
        #expect(tree.leafTexts == ["3-c", "2-c", "1-a"])
        #expect(try tree.add("3-c 2-a") == .alreadyPresent)

        var same = RevisionTree()
        try same.add("6-d 5-d 4-e")
        #expect(same.historyTexts("6-d") == ["5-d", "4-e"])

        var jump = RevisionTree()
        try jump.add("90-x 50-y 3-z")
        #expect(jump.historyTexts("90-x") == ["50-y", "3-z"])
    }

    @Test("a history that does not fall strictly is refused and changes nothing")
    func notDescending() throws {
        var tree = RevisionTree()
        try tree.add("2-b 1-a")
        let before = tree
        for chain in ["3-c 3-b", "3-c 4-b", "3-c 2-b 2-a", "3-c 1-a 2-b", "3-c 2-b 1-a 1-x", "2-b 2-b", "3-c 3-c"] {
            expectRefusal(.badDocument) { try tree.add(chain) }
        }
        #expect(tree == before)
    }

    @Test("a gap in a history is filled when a fuller one comes, also for a known revision")
    func fillsGaps() throws {
        var tree = RevisionTree()
        try tree.add("5-e 2-b")
        try tree.add("3-c 2-b")
        #expect(tree.leafTexts == ["5-e", "3-c"])
        #expect(try tree.add("5-e 4-d 3-c") == .historyExtended(leavesChanged: true))
        #expect(tree.leafTexts == ["5-e"])
        #expect(tree.historyTexts("5-e") == ["4-d", "3-c", "2-b"])
        #expect(try tree.add("5-e 1-a") == .historyExtended(leavesChanged: false))
        #expect(tree.historyTexts("5-e") == ["4-d", "3-c", "2-b", "1-a"])
    }

    @Test("two chains of one revision that skip different generations become one chain")
    func zips() throws {
        var tree = RevisionTree()
        try tree.add("9-i 7-g 5-e 1-a")
        try tree.add("8-h 6-f 4-d 2-b")
        #expect(try tree.add("9-i 8-h") == .historyExtended(leavesChanged: true))
        #expect(tree.leafTexts == ["9-i"])
        try tree.add("8-h 7-g 6-f 5-e 4-d")
        #expect(tree.historyTexts("9-i") == ["8-h", "7-g", "6-f", "5-e", "4-d", "2-b", "1-a"])
    }

    @Test("where two histories contradict each other neither claim leaves a leaf behind")
    func contradiction() throws {
        var first = RevisionTree()
        try first.add("4-d 3-c")
        try first.add("5-e 4-d 3-c")
        try first.add("5-e 4-faded 3-c")
        var second = RevisionTree()
        try second.add("5-e 4-faded 3-c")
        try second.add("5-e 4-d 3-c")
        try second.add("4-d 3-c")
        #expect(first.leafTexts == ["5-e"] && second.leafTexts == ["5-e"])
        #expect(first.historyTexts("5-e") == ["4-d", "3-c"])
        #expect(second.historyTexts("5-e") == ["4-faded", "3-c"])
    }

    @Test("ancestors that may be told to a sender: leaves first, then the newest with a body")
    func possibleAncestors() throws {
        var tree = RevisionTree()
        for chain in ["1-a", "2-b 1-a", "3-c 2-b", "2-x 1-a"] { try tree.add(chain) }
        func texts(_ text: String, _ limit: Int = 10) -> [String] {
            tree.possibleAncestors(of: revision(text), limit: limit).map(\.description)
        }
        #expect(texts("4-n") == ["3-c", "2-x", "2-b", "1-a"])
        #expect(texts("4-n", 2) == ["3-c", "2-x"])
        #expect(texts("3-n") == ["2-x", "2-b", "1-a"])
        #expect(texts("1-n") == [])
        tree.dropBodiesOfAncestors()
        tree.setHasBody(true, of: revision("1-a"))
        tree.setHasBody(false, of: revision("3-c"))
        #expect(texts("4-n") == ["3-c", "2-x", "1-a", "2-b"])
        #expect(tree[revision("3-c")]?.hasBody == true)
    }

    @Test("pruning keeps leaves and their nearest ancestors")
    func pruning() throws {
        var tree = RevisionTree()
        for generation in 1...30 { try tree.add(generation == 1 ? "1-a" : "\(generation)-a \(generation - 1)-a") }
        try tree.add("29-b 28-a")
        #expect(tree.prune(toDepth: 100) == 0)
        #expect(tree.prune(toDepth: 5) == 24)
        #expect(tree.leafTexts == ["30-a", "29-b"])
        #expect(tree.historyTexts("30-a") == ["29-a", "28-a", "27-a", "26-a", "25-a"])
        #expect(try RevisionTree(decoding: tree.encoded()) == tree)
        #expect(tree.prune(toDepth: 5) == 0)
        #expect(tree.prune(toDepth: 1) == 5)
        #expect(tree.leafTexts == ["30-a", "29-b"])
        #expect(try tree.add("31-a 30-a 29-a") == .inserted(parent: revision("30-a"), parentWasLeaf: true))
    }

    @Test("a very long history is taken up to a limit")
    func longHistory() throws {
        let history = (1...UInt64(30_000)).reversed().map { try! RevisionID(generation: $0, digest: "aa") }
        var tree = RevisionTree()
        try tree.insert(revision("30001-a"), history: history)
        #expect(tree.count == DocumentLimits.historyRevisionsMax + 1)
        #expect(try tree.insert(revision("30001-a"), history: history) == .alreadyPresent)
    }
}
