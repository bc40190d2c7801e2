extension RevisionTree {
    /// Prunes old ancestors: every leaf keeps itself and its nearest ancestors, `depth` revisions in all, and the merge marks
    /// between these (`DocumentLimits.marksKeptMax` in a row, further ones count as revisions); a superseded revision outside
    /// every leaf's history stays while its generation is within `depth` of the highest.
    ///
    /// What is pruned is still known, by a fingerprint of 8 bytes, until `DocumentLimits.prunedRevisionsMax` newer ones
    /// have been pruned too; so it never comes back as a leaf, and a peer that has it as one can be told better
    /// (`history(of:including:)`).
    ///
    /// - Parameter depth: at least 1.
    /// - Returns: how many revisions were pruned.
    @discardableResult
    public mutating func prune(toDepth depth: Int) -> Int {
        guard nodes.count > max(depth, 1), let highest = nodes.last?.revision.generation else { return 0 }
        var keeps = [Bool](repeating: false, count: nodes.count)
        var isAncestor = [Bool](repeating: false, count: nodes.count)
        for index in nodes.indices where nodes[index].parent >= 0 { isAncestor[Int(nodes[index].parent)] = true }
        for leaf in nodes.indices where nodes[leaf].flags.contains(.leaf) {
            var next = leaf
            var left = max(depth, 1)
            var marks = 0
            while true {
                marks = nodes[next].revision.isMergeMark ? marks + 1 : 0
                if marks == 0 || marks > DocumentLimits.marksKeptMax { left -= 1 }
                keeps[next] = true
                // Marks before the last one that is kept would say nothing of anything that is.
                guard left > 0, nodes[next].parent >= 0 else { break }
                next = Int(nodes[next].parent)
            }
        }
        for index in nodes.indices where !nodes[index].flags.contains(.leaf) && !isAncestor[index] {
            keeps[index] = nodes[index].revision.generation + UInt64(max(depth, 1)) > highest
        }
        var places = [Int32](repeating: Node.noParent, count: nodes.count)
        var kept: [Node] = []
        kept.reserveCapacity(nodes.count)
        // Parents come before their children, so a parent's new place is known when the child is reached.
        for index in nodes.indices where keeps[index] {
            places[index] = Int32(truncatingIfNeeded: kept.count)
            var node = nodes[index]
            if node.parent >= 0 { node.parent = places[Int(node.parent)] }
            kept.append(node)
        }
        let removed = nodes.indices.filter { !keeps[$0] }.map { PrunedRevision(nodes[$0].revision) }
        nodes = kept
        note(removed)
        return removed.count
    }

    /// Whether the revision was pruned: it is known, is no leaf, and its place in the tree is not known.
    public func isPruned(_ revision: RevisionID) -> Bool {
        guard let newest = pruned.last, revision.generation32 <= newest.generation32 else { return false }
        let one = PrunedRevision(revision)
        let place = Self.place(of: one, in: pruned)
        // A revision that has the fingerprint of another is still itself.
        return place < pruned.count && pruned[place] == one && index(of: revision) == nil
    }

    /// Notes that revisions are ancestors of a pruned one: a leaf ceases to be one, and what is not known is noted as
    /// pruned.
    mutating func supersede(_ ancestors: ArraySlice<RevisionID>) -> (hasChanged: Bool, leavesChanged: Bool) {
        var leavesChanged = false
        var unknown: [PrunedRevision] = []
        for ancestor in ancestors {
            guard let index = index(of: ancestor) else {
                unknown.append(PrunedRevision(ancestor))
                continue
            }
            guard nodes[index].flags.contains(.leaf) else { continue }
            nodes[index].flags.remove(.leaf)
            leavesChanged = true
        }
        return (note(unknown) || leavesChanged, leavesChanged)
    }

    /// Adds pruned revisions, and drops the oldest beyond the limit.
    ///
    /// - Returns: whether anything has changed.
    @discardableResult
    private mutating func note(_ revisions: [PrunedRevision]) -> Bool {
        let fresh = Set(revisions).filter {
            let place = Self.place(of: $0, in: pruned)
            return place == pruned.count || pruned[place] != $0
        }
        guard let newest = fresh.max() else { return false }
        let isBehind = pruned.last.map { last in fresh.allSatisfy { last < $0 } } ?? true
        pruned.append(contentsOf: fresh.sorted())
        if !isBehind { pruned.sort() }
        let excess = pruned.count - DocumentLimits.prunedRevisionsMax
        guard excess > 0 else { return true }
        let isKept = pruned[excess - 1] < newest
        pruned.removeFirst(excess)
        return isKept
    }

    /// The first place in a rising list whose revision is not below this one.
    private static func place(of one: PrunedRevision, in list: [PrunedRevision]) -> Int {
        var low = 0
        var high = list.count
        while low < high {
            let middle = (low + high) >> 1
            if list[middle] < one { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
