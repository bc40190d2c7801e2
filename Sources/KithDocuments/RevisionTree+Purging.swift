extension RevisionTree {
    /// Forgets a leaf, and those of its ancestors that no other revision descends from.
    ///
    /// Unlike a tombstone this leaves no trace: a peer that sends the revision again brings it back, and so does one that
    /// sends an ancestor of it as its leaf. For that, what was pruned from the tree is forgotten too, of all branches.
    ///
    /// - Returns: whether the revision was a leaf; otherwise nothing changed.
    @discardableResult
    public mutating func purge(_ leaf: RevisionID) -> Bool {
        guard let start = index(of: leaf), nodes[start].flags.contains(.leaf) else { return false }
        var childCounts = [Int32](repeating: 0, count: nodes.count)
        for node in nodes where node.parent >= 0 { childCounts[Int(node.parent)] += 1 }
        var isGone = [Bool](repeating: false, count: nodes.count)
        var next = start
        while true {
            isGone[next] = true
            let parent = Int(nodes[next].parent)
            // A leaf that contradicting histories have given a child stays one.
            guard parent >= 0, childCounts[parent] == 1, !nodes[parent].flags.contains(.leaf) else { break }
            next = parent
        }
        var places = [Int32](repeating: Node.noParent, count: nodes.count)
        var kept: [Node] = []
        kept.reserveCapacity(nodes.count)
        for index in nodes.indices where !isGone[index] {
            places[index] = Int32(truncatingIfNeeded: kept.count)
            var node = nodes[index]
            if node.parent >= 0 { node.parent = places[Int(node.parent)] }
            kept.append(node)
        }
        // A superseded revision outside every chain may have been covered by the leaf that is gone; the last one is a leaf.
        while let last = kept.last, !last.flags.contains(.leaf) { kept.removeLast() }
        nodes = kept
        // Some of these may have been superseded by the leaf that is gone, and by nothing else: they must not be taken
        // for ancestors of another leaf. A conflict with a peer that lags behind is the smaller evil.
        pruned = []
        return true
    }

    /// Whether the store still has the body of a revision that is no leaf.
    public var hasOldBodies: Bool {
        nodes.contains { $0.flags.contains(.hasBody) && !$0.flags.contains(.leaf) }
    }
}
