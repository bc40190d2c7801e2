extension RevisionTree {
    /// The base of each leaf for `ThreeWayMerge`: of the ancestors that it shares with a leaf before it in the list, the
    /// one of the highest generation.
    ///
    /// - Parameter leaves: revisions in the order of the winner rule.
    /// - Returns: as many as there are leaves; `nil` for the first, and for one that shares no known ancestor with those
    ///   before it. Whether the store still has a base's body is for the caller to look at.
    public func mergeBases(of leaves: [RevisionID]) -> [RevisionID?] {
        var isShared = [Bool](repeating: false, count: nodes.count)
        return leaves.map { leaf in
            var base: RevisionID?
            var next = index(of: leaf) ?? -1
            while next >= 0 {
                if isShared[next] {
                    // What is below was marked together with this.
                    base = nodes[next].revision
                    break
                }
                isShared[next] = true
                next = Int(nodes[next].parent)
            }
            return base
        }
    }

    /// Whether `mergeBases(of:)` names the bases that every node would name which knows these leaves.
    ///
    /// Histories may stop anywhere and skip generations, so a nearer ancestor can be hidden in a gap, and a branch whose
    /// beginning is not known can have begun anywhere. The bases are certain when no generation is missing in any of the
    /// branches above the lowest base; where leaves share no ancestor, down to the first generation.
    public func areMergeBasesCertain(of leaves: [RevisionID]) -> Bool {
        let lowest = mergeBases(of: leaves).dropFirst().map { $0?.generation ?? 0 }.min() ?? 0
        for leaf in leaves {
            guard var next = index(of: leaf) else { return false }
            while nodes[next].revision.generation > lowest + 1 {
                let parent = Int(nodes[next].parent)
                let known = parent >= 0 ? nodes[parent].revision.generation : 0
                guard known + 1 == nodes[next].revision.generation else { return false }
                next = parent
            }
        }
        return true
    }
}
