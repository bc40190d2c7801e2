/// How the versions of a document came about: its revision tree, and the merges that merge marks tell of
/// (`RevisionID.mergeMark`). From it follow the bases of merges.
///
/// A merged revision descends from the version that was its winner, by the tree, and from the others, by its marks. So a
/// version that was merged already and has gone on elsewhere parted from the merged revision where it was merged, and not
/// where the two versions had parted before.
public struct MergeGraph {
    private typealias Node = RevisionTree.Node

    private let nodes: [Node]
    /// For each node the index of the revision that was merged there, or -1; empty where nothing was merged.
    private var merged: [Int32]

    /// What is known of that from which a revision comes directly.
    private enum Origin {
        /// All of it.
        case whole
        /// A merged version is not known, of which it is only certain that its generation is below the mark's.
        case withoutMerged
        /// Generations are missing, or a mark stands where it was not made.
        case broken
    }

    /// The graph of a document.
    public init(_ tree: RevisionTree) {
        nodes = tree.nodes
        merged = []
        guard nodes.contains(where: \.revision.isMergeMark) else { return }
        merged = [Int32](repeating: Node.noParent, count: nodes.count)
        var places: [UInt64: Int32] = [:]
        for (index, node) in nodes.enumerated() {
            // Only what comes before a mark can have been merged there: whatever a peer says, nothing goes round.
            if let version = node.revision.mergedFingerprint, let place = places[version], !isMisplaced(index) {
                merged[index] = place
            }
            // Two of one fingerprint are made on purpose: a mark could mean either, so it leads to none.
            let fingerprint = node.revision.fingerprint
            places[fingerprint] = places[fingerprint] == nil ? Int32(truncatingIfNeeded: index) : Node.noParent
        }
    }

    /// From where a version parted from others, for `ThreeWayMerge`.
    public struct Bases: Sendable {
        /// The newest common ancestors, none of which is an ancestor of another, the highest first. There are several
        /// where both sides have merged the same versions, and none where the two began apart.
        public let revisions: [RevisionID]
        /// Whether every node that knows the versions finds these: histories may stop anywhere and skip generations, and a
        /// merged version may not be known here. So it is certain only where nothing is missing above the bases, or, where
        /// there are none, down to the first generation.
        public let isCertain: Bool
        /// The revisions from which the versions come that both sides have, without a base that stands alone, the highest first:
        /// what a version has from one of these nobody has written since (`ThreeWayMerge.Origins`).
        public let origins: (others: [RevisionID], version: [RevisionID])
        /// Whether these are all.
        public let areOriginsKnown: Bool
        /// Where both sides begin with a decision about the same versions, two children of one merge mark: that of the others,
        /// and that of the version. Both have `revisions` as their bases.
        public let decisions: (others: RevisionID, version: RevisionID)?
        /// Whether the version is, or descends from, a revision that none of the others has and that is no merge: somebody
        /// wrote it.
        public let bringsEdits: Bool
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
            guard let index = index(of: version.revision) else {
                return Bases(
                    revisions: [], isCertain: false, origins: ([], []), areOriginsKnown: false, decisions: nil,
                    bringsEdits: true)
            }
            sides[index].insert(version.side)
        }
        var revisions: [RevisionID] = []
        var (isCertain, bringsEdits) = (true, false)
        /// Which versions have merged what is not known, and the highest generation of the marks that say so.
        var unknown: (sides: Sides, generation: UInt64)?
        // Ancestors come before their descendants, so all of a revision's sides are known when it is reached.
        for index in nodes.indices.reversed() where !sides[index].isEmpty {
            var passed = sides[index]
            if passed.isSuperset(of: all) {
                // Two merges that begin alike share their first marks, which are no versions: what was merged there is.
                if !nodes[index].revision.isMergeMark {
                    if !passed.contains(.belowBase) { revisions.append(nodes[index].revision) }
                    passed.insert(.belowBase)
                } else if !passed.contains(.belowBase), origin(of: index) != .whole {
                    isCertain = false
                }
            } else {
                if passed == versions.last?.side, isEdit(index) { bringsEdits = true }
                switch origin(of: index) {
                case .whole: break
                case .broken: isCertain = false
                case .withoutMerged:
                    // It may have brought edits that nobody here has seen.
                    if passed == versions.last?.side { bringsEdits = true }
                    if let unknown, unknown.sides != passed { isCertain = false }
                    let generation = nodes[index].revision.generation
                    unknown = (passed, max(generation, unknown?.generation ?? 0))
                }
            }
            let parent = Int(nodes[index].parent)
            if parent >= 0 { sides[parent].formUnion(passed) }
            if !merged.isEmpty, merged[index] >= 0 { sides[Int(merged[index])].formUnion(passed) }
        }
        // What was merged and is not known matters only where it can descend from a revision that the other side has: that
        // one has a lower generation, as what was merged has a lower one than the mark.
        if let unknown, isCertain {
            isCertain = !nodes.indices.contains { index in
                !sides[index].isEmpty && !sides[index].isSuperset(of: unknown.sides)
                    && nodes[index].revision.generation + 2 <= unknown.generation
            }
        }
        let origins = origins(sides, all: all, besides: revisions.count == 1 ? revisions[0] : nil)
        return Bases(
            revisions: revisions, isCertain: isCertain, origins: origins, areOriginsKnown: unknown == nil,
            decisions: decisions(sides, all: all), bringsEdits: bringsEdits)
    }

    /// The children of the newest mark that both sides have, where both sides have such; nil where several marks have.
    private func decisions(_ sides: [Sides], all: Sides) -> (others: RevisionID, version: RevisionID)? {
        var found: (mark: Int, others: RevisionID?, version: RevisionID?)?
        // The highest come first, so of several others the one that stands counts.
        for index in nodes.indices.reversed() {
            let parent = Int(nodes[index].parent)
            guard parent >= 0, sides[index] == .others || sides[index] == .version,
                nodes[parent].revision.isMergeMark, sides[parent].isSuperset(of: all),
                !sides[parent].contains(.belowBase), !nodes[index].revision.isMergeMark
            else { continue }
            guard found == nil || found?.mark == parent else { return nil }
            let revision = nodes[index].revision
            found = (
                parent, found?.others ?? (sides[index] == .others ? revision : nil),
                found?.version ?? (sides[index] == .version ? revision : nil)
            )
        }
        guard let others = found?.others, let version = found?.version else { return nil }
        return (others, version)
    }

    /// What both sides have and is a direct origin of something that one of them does not have.
    private func origins(
        _ sides: [Sides], all: Sides, besides base: RevisionID?
    ) -> (others: [RevisionID], version: [RevisionID]) {
        func shared(_ side: Sides) -> [RevisionID] {
            var isOrigin = [Bool](repeating: false, count: nodes.count)
            var found: [RevisionID] = []
            // Origins come before what comes from them.
            for index in nodes.indices.reversed() {
                let isShared = sides[index].isSuperset(of: all)
                if isShared, isOrigin[index], !nodes[index].revision.isMergeMark, nodes[index].revision != base {
                    found.append(nodes[index].revision)
                }
                // A mark that both have stands for what comes before it and for what was merged there.
                let passes = isShared ? isOrigin[index] && nodes[index].revision.isMergeMark : sides[index] == side
                guard passes else { continue }
                if nodes[index].parent >= 0 { isOrigin[Int(nodes[index].parent)] = true }
                if !merged.isEmpty, merged[index] >= 0 { isOrigin[Int(merged[index])] = true }
            }
            return found
        }
        return (shared(.others), shared(.version))
    }

    private func origin(of index: Int) -> Origin {
        let node = nodes[index]
        let known = node.parent >= 0 ? nodes[Int(node.parent)].revision.generation : 0
        guard known + 1 == node.revision.generation else { return .broken }
        guard node.revision.isMergeMark else { return .whole }
        return merged[index] >= 0 ? .whole : isMisplaced(index) ? .broken : .withoutMerged
    }

    /// Whether a mark follows another revision than the one that it was made for.
    private func isMisplaced(_ index: Int) -> Bool {
        let node = nodes[index]
        guard node.parent >= 0 else { return false }
        let parent = nodes[Int(node.parent)].revision
        return parent.generation + 1 == node.revision.generation && !node.revision.isMergeMark(after: parent)
    }

    /// Whether somebody wrote the revision: it is no mark, and no merge, which follows a mark.
    private func isEdit(_ index: Int) -> Bool {
        let node = nodes[index]
        return !node.revision.isMergeMark
            && (node.parent < 0 || !nodes[Int(node.parent)].revision.isMergeMark)
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
