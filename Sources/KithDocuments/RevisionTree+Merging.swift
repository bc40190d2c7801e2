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
}
