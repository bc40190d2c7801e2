/// A revision tree of which many questions are asked, one for each leaf and more: all of it is looked at once, and each answer
/// costs what is in it.
///
/// The answers are those of the tree.
public struct RevisionIndex {
    /// The tree.
    public let tree: RevisionTree
    /// Revisions that were looked at so far, for tests.
    package private(set) var visited = 0
    private var knownLeaves: [RevisionID]?
    /// For each node the place of the first of the leaves, the winner first, that it is or is an ancestor of; -1: none.
    private var knownOwners: [Int32]?
    /// Places of nodes, the highest revision first: leaves, other revisions with a body, and those without.
    private var knownClasses: [[Int]]?

    /// An index of a tree.
    public init(_ tree: RevisionTree) { self.tree = tree }

    /// The leaves, the winner first.
    public var leaves: [RevisionID] {
        mutating get {
            if let knownLeaves { return knownLeaves }
            visited += tree.count
            let leaves = tree.leaves.map(\.revision)
            knownLeaves = leaves
            return leaves
        }
    }

    /// The leaf that supersedes a revision; `nil` when it is a leaf, or not known. See `RevisionTree.supersession`.
    public mutating func leaf(superseding revision: RevisionID) -> RevisionID? {
        guard let place = tree.index(of: revision) else {
            guard tree.isPruned(revision) else { return nil }
            visited += tree.count
            return tree.supersession(of: revision)?.leaf
        }
        guard !tree.nodes[place].flags.contains(.leaf) else { return nil }
        let owner = owners[place]
        if owner >= 0 { return leaves[Int(owner)] }
        visited += tree.count
        return tree.supersession(of: revision)?.leaf
    }

    /// Revisions that an unknown one may descend from. See `RevisionTree.possibleAncestors`.
    public mutating func possibleAncestors(of revision: RevisionID, limit: Int) -> [RevisionID] {
        var result: [RevisionID] = []
        for places in classes where result.count < limit {
            var low = 0
            var high = places.count
            while low < high {
                let middle = (low + high) >> 1
                if tree.nodes[places[middle]].revision.generation32 < revision.generation32 {
                    high = middle
                } else {
                    low = middle + 1
                }
            }
            for place in places[low...].prefix(limit - result.count) { result.append(tree.nodes[place].revision) }
        }
        visited += result.count
        return result
    }

    /// The ancestors of a revision, with those candidates that are superseded. See `RevisionTree.history`.
    public mutating func history(of revision: RevisionID, including candidates: [RevisionID]) -> [RevisionID] {
        let owners = candidates.isEmpty ? [] : owners
        let history = tree.history(of: revision, including: candidates) { owners[$0] >= 0 }
        visited += history.count
        return history
    }

    private var owners: [Int32] {
        mutating get {
            if let knownOwners { return knownOwners }
            var owners = [Int32](repeating: -1, count: tree.count)
            for (number, leaf) in leaves.enumerated() {
                var place = tree.index(of: leaf) ?? -1
                // What lies behind an ancestor of an earlier leaf is that one's too.
                while place >= 0, owners[place] < 0 {
                    owners[place] = Int32(truncatingIfNeeded: number)
                    place = Int(tree.nodes[place].parent)
                    visited += 1
                }
            }
            knownOwners = owners
            return owners
        }
    }

    private var classes: [[Int]] {
        mutating get {
            if let knownClasses { return knownClasses }
            visited += tree.count
            var classes: [[Int]] = [[], [], []]
            for (place, node) in tree.nodes.enumerated().reversed() {
                classes[node.flags.contains(.leaf) ? 0 : node.flags.contains(.hasBody) ? 1 : 2].append(place)
            }
            knownClasses = classes
            return classes
        }
    }
}
