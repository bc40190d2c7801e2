import KithDocuments
import Testing

@Suite("The winner does not depend on the order of arrival")
struct RevisionTreeOrderTests {
    struct Arrival {
        let revision: RevisionID
        let history: [RevisionID]
        let isDeleted: Bool
    }

    /// Cases with the winner that every order must give.
    static let cases: [(arrivals: [(String, Bool)], winner: String, isDeleted: Bool)] = [
        // Two roots: the longer branch wins over the higher digest.
        ([("3-11 2-22 1-33", false), ("2-ff 1-ee", false)], "3-11", false),
        // Generations are numbers.
        ([("9-99 8-08 7-07", false), ("10-00 9-109a 8-108a", false)], "10-00", false),
        // A longer branch that is deleted loses.
        ([("5-dd 4-cc 3-bb 2-aa 1-77", true), ("2-55 1-77", false)], "2-55", false),
        // All deleted: the higher digest.
        ([("4-af 3-bb 2-cc 1-77", true), ("4-ae 3-88 2-cc 1-77", true)], "4-af", true),
        // A tie of three.
        ([("2-bb 1-77", false), ("2-cc 1-77", false), ("2-aa 1-77", false)], "2-cc", false),
        // The digest as lower-case text.
        ([("1-AB", false), ("1-ac", false), ("1-B", false)], "1-B", false),
    ]

    @Test("known hard cases, in every order", arguments: cases.indices)
    func known(index: Int) throws {
        let (arrivals, winner, isDeleted) = Self.cases[index]
        for order in permutations(Array(arrivals.indices)) {
            var tree = RevisionTree()
            for index in order { try tree.add(arrivals[index].0, isDeleted: arrivals[index].1) }
            #expect(tree.winner?.revision == revision(winner))
            #expect(tree.winner?.isDeleted == isDeleted)
            #expect(tree.leaves.first == tree.winner)
            #expect(tree.leafCount == arrivals.count)
        }
    }

    @Test("deleting the winner shows the other leaf; saving on an old revision makes a branch", arguments: [0, 1])
    func deletingInAConflict(order: Int) throws {
        var tree = RevisionTree()
        let arrivals = ["3-bb 2-22 1-11", "3-aa 2-33 1-11"]
        for chain in order == 0 ? arrivals : arrivals.reversed() { try tree.add(chain) }
        #expect(tree.leafTexts == ["3-bb", "3-aa"])
        try tree.add("4-dd 3-bb", isDeleted: true)
        #expect(tree.leafTexts == ["3-aa", "(4-dd)"])
        #expect(tree.liveLeafCount == 1)
        try tree.add("4-ee 3-aa", isDeleted: true)
        #expect(tree.leafTexts == ["(4-ee)", "(4-dd)"])
        #expect(!tree.isLeaf(revision("3-bb")))
        try tree.add("5-ff 4-ee")
        #expect(tree.leafTexts == ["5-ff", "(4-dd)"])
    }

    @Test(
        "random trees, cut and gapped histories, any order, repeats: the same leaves, and whole chains",
        arguments: 0..<60)
    func random(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let truth = Self.randomRevisions(&random)
        var arrivals: [Arrival] = []
        for (index, node) in truth.enumerated() {
            for _ in 0..<Int.random(in: 0...2, using: &random) {
                let ancestors = Self.ancestors(of: index, in: truth)
                let skips = random.chance(2)
                let kept = ancestors.filter { _ in !skips || !random.chance(3) }
                let history = Array(kept.prefix(Int.random(in: 0...kept.count, using: &random)))
                arrivals.append(Arrival(revision: node.revision, history: history, isDeleted: node.isDeleted))
            }
        }
        try checkEveryOrder(arrivals, &random)

        // The claims agree with each other, so a chain has all that was claimed of it, directly and through others. It
        // may have more: two ancestors of one revision are on one chain, and so one is the other's. But it is true.
        var claimed: [RevisionID: Set<RevisionID>] = [:]
        for arrival in arrivals {
            for (place, one) in ([arrival.revision] + arrival.history).enumerated() {
                claimed[one, default: []].formUnion(arrival.history.dropFirst(place))
            }
        }
        func closure(_ one: RevisionID) -> Set<RevisionID> {
            var result: Set<RevisionID> = []
            var open = claimed[one] ?? []
            while let next = open.popFirst() {
                if result.insert(next).inserted { open.formUnion(claimed[next] ?? []) }
            }
            return result
        }
        var tree = RevisionTree()
        for arrival in arrivals.shuffled(using: &random) {
            try tree.insert(arrival.revision, history: arrival.history, isDeleted: arrival.isDeleted)
        }
        for leaf in tree.leaves {
            let history = tree.history(of: leaf.revision)
            #expect(closure(leaf.revision).isSubset(of: history), "seed \(seed)")
            let index = truth.firstIndex { $0.revision == leaf.revision }
            #expect(try Set(history).isSubset(of: Self.ancestors(of: #require(index), in: truth)), "seed \(seed)")
        }
    }

    @Test("histories that contradict each other: still the same leaves", arguments: 0..<60)
    func contradicting(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed + 10_000)
        let arrivals = (0..<Int.random(in: 1...12, using: &random)).map { _ in
            var generation = UInt64.random(in: 1...9, using: &random)
            let newest = Self.randomRevision(generation, &random)
            var history: [RevisionID] = []
            while generation > 1, !random.chance(4) {
                generation -= UInt64.random(in: 1...min(3, generation - 1), using: &random)
                history.append(Self.randomRevision(generation, &random))
            }
            // The flag follows from the revision, as everywhere.
            return Arrival(revision: newest, history: history, isDeleted: newest.digest == "d")
        }
        try checkEveryOrder(arrivals, &random)
    }

    private func checkEveryOrder(_ arrivals: [Arrival], _ random: inout SeededGenerator) throws {
        let claimed = Set(arrivals.flatMap(\.history))
        let expected = Set(arrivals.map(\.revision)).subtracting(claimed)
        // The rule once more, in words of texts: live, then the generation, then the digest in lower case, then as it is.
        let byRule = arrivals.filter { expected.contains($0.revision) }.max { a, b in
            if a.isDeleted != b.isDeleted { return a.isDeleted }
            if a.revision.generation != b.revision.generation { return a.revision.generation < b.revision.generation }
            let left = a.revision.digest.lowercased()
            let right = b.revision.digest.lowercased()
            return left != right ? left < right : a.revision.digest < b.revision.digest
        }
        var first: [RevisionTree.Entry]?
        for _ in 0..<20 {
            var tree = RevisionTree()
            for arrival in arrivals.shuffled(using: &random) {
                let before = tree
                let outcome = try tree.insert(arrival.revision, history: arrival.history, isDeleted: arrival.isDeleted)
                #expect((outcome == .alreadyPresent) == (tree == before))
                if case .historyExtended(let leavesChanged) = outcome {
                    #expect(leavesChanged == (tree.leaves != before.leaves))
                }
                let encoded = tree.encoded()
                #expect(try RevisionTree(decoding: encoded) == tree, "\(encoded)")
                if random.chance(2) { tree = try RevisionTree(decoding: encoded) }
            }
            let leaves = tree.leaves
            #expect(Set(leaves.map(\.revision)) == expected)
            #expect(tree.winner?.revision == byRule?.revision && tree.winner?.isDeleted == byRule?.isDeleted)
            #expect(first == nil || first == leaves)
            first = leaves
        }
    }

    private struct TrueRevision {
        let revision: RevisionID
        let parent: Int?
        let isDeleted: Bool
    }

    private static func randomRevision(_ generation: UInt64, _ random: inout SeededGenerator) -> RevisionID {
        try! RevisionID(generation: generation, digest: random.pick(["a", "bb", "C", "d"]))
    }

    private static func randomRevisions(_ random: inout SeededGenerator) -> [TrueRevision] {
        var result: [TrueRevision] = []
        for index in 0..<Int.random(in: 1...14, using: &random) {
            let parent =
                index == 0 || random.chance(8)
                ? nil : random.chance(2) ? index - 1 : Int.random(in: 0..<index, using: &random)
            let generation = parent.map { result[$0].revision.generation + 1 } ?? 1
            let digest = random.chance(2) ? String(random.next() | 1 << 63, radix: 16) : "x\(random.next())"
            result.append(
                TrueRevision(
                    revision: try! RevisionID(generation: generation, digest: digest), parent: parent,
                    isDeleted: random.chance(4)))
        }
        return result
    }

    private static func ancestors(of index: Int, in revisions: [TrueRevision]) -> [RevisionID] {
        var result: [RevisionID] = []
        var next = revisions[index].parent
        while let place = next {
            result.append(revisions[place].revision)
            next = revisions[place].parent
        }
        return result
    }

    private func permutations(_ items: [Int]) -> [[Int]] {
        guard items.count > 1 else { return [items] }
        return items.flatMap { first in permutations(items.filter { $0 != first }).map { [first] + $0 } }
    }
}
