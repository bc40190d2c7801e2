/// How the versions of a document came about: its revision tree, and the merges that merge marks tell of
/// (`RevisionID.mergeMark`). From it follow the bases of merges.
///
/// A merged revision descends from the version that was its winner, by the tree, and from the others, by its marks. So a
/// version that was merged already and has gone on elsewhere parted from the merged revision where it was merged, and not
/// where the two versions had parted before.
public struct MergeGraph {
    private let nodes: [RevisionTree.Node]
    /// For each node the index of the revision that was merged there, or -1; empty where nothing was merged.
    private var merged: [Int32]

    /// The graph of a document.
    public init(_ tree: RevisionTree) {
        nodes = tree.nodes
        merged = []
        guard nodes.contains(where: \.revision.isMergeMark) else { return }
        merged = [Int32](repeating: RevisionTree.Node.noParent, count: nodes.count)
        var places: [UInt64: Int] = [:]
        for (index, node) in nodes.enumerated() {
            // Only what comes before a mark can have been merged there: whatever a peer says, nothing goes round.
            if let version = node.revision.mergedFingerprint, let place = places[version] {
                merged[index] = Int32(truncatingIfNeeded: place)
            }
            let fingerprint = node.revision.fingerprint
            if places[fingerprint] == nil { places[fingerprint] = index }
        }
    }

    /// From where a version parted from others, for `ThreeWayMerge`.
    public struct Bases: Sendable, Equatable {
        /// The newest common ancestors, none of which is an ancestor of another, the highest first. There are several
        /// where both sides have merged the same versions, and none where the two began apart.
        public let revisions: [RevisionID]
        /// Whether every node that knows the versions finds these: histories may stop anywhere and skip generations, and a
        /// merged version may not be known here. So it is certain only where nothing is missing above the bases, or, where
        /// there are none, down to the first generation.
        public let isCertain: Bool
    }

    /// From where a version parted from some others that are merged already.
    ///
    /// - Parameters:
    ///   - version: a revision of the tree.
    ///   - others: revisions of the tree, of which none is an ancestor of another or of the version.
    public func bases(of version: RevisionID, mergedWith others: [RevisionID]) -> Bases {
        let sides = others.map { (revision: $0, side: Sides.others) } + [(version, .version)]
        return bases(sides, all: [.others, .version])
    }

    /// The newest revisions that all versions descend from, the highest first. As `bases`, between two versions.
    ///
    /// - Parameter versions: revisions of the tree, at most 31 of them.
    public func commonAncestors(of versions: [RevisionID]) -> Bases {
        let sides = versions.enumerated().map { (revision: $1, side: Sides(rawValue: 2 << UInt32($0))) }
        return bases(sides, all: sides.reduce(into: []) { $0.insert($1.side) })
    }

    /// Which versions a revision is an ancestor of, or is.
    private struct Sides: OptionSet {
        let rawValue: UInt32
        /// It is an ancestor of a base too.
        static let belowBase = Sides(rawValue: 1)
        static let others = Sides(rawValue: 2)
        static let version = Sides(rawValue: 4)
    }

    private func bases(_ versions: [(revision: RevisionID, side: Sides)], all: Sides) -> Bases {
        var sides = [Sides](repeating: [], count: nodes.count)
        for version in versions {
            guard let index = index(of: version.revision) else { return Bases(revisions: [], isCertain: false) }
            sides[index].insert(version.side)
        }
        var revisions: [RevisionID] = []
        var isCertain = true
        // Ancestors come before their descendants, so all of a revision's sides are known when it is reached.
        for index in nodes.indices.reversed() where !sides[index].isEmpty {
            var passed = sides[index]
            if passed.isSuperset(of: all) {
                // Two merges that begin alike share their first marks, which are no versions: what was merged there is.
                if !nodes[index].revision.isMergeMark {
                    if !passed.contains(.belowBase) { revisions.append(nodes[index].revision) }
                    passed.insert(.belowBase)
                } else if !passed.contains(.belowBase), !isWhole(index) {
                    isCertain = false
                }
            } else if !isWhole(index) {
                isCertain = false
            }
            let parent = Int(nodes[index].parent)
            if parent >= 0 { sides[parent].formUnion(passed) }
            if !merged.isEmpty, merged[index] >= 0 { sides[Int(merged[index])].formUnion(passed) }
        }
        return Bases(revisions: revisions, isCertain: isCertain)
    }

    /// Whether all that a revision comes from directly is known.
    private func isWhole(_ index: Int) -> Bool {
        let node = nodes[index]
        let known = node.parent >= 0 ? nodes[Int(node.parent)].revision.generation : 0
        guard known + 1 == node.revision.generation else { return false }
        return !node.revision.isMergeMark || merged[index] >= 0
    }

    private func index(of revision: RevisionID) -> Int? {
        var low = 0
        var high = nodes.count
        while low < high {
            let middle = (low + high) >> 1
            if nodes[middle].revision < revision { low = middle + 1 } else { high = middle }
        }
        return low < nodes.count && nodes[low].revision == revision ? low : nil
    }
}
