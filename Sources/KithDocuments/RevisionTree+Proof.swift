// How a node proves to a peer that the peer's leaf is superseded, although its place in the tree is not known any more.
extension RevisionTree {
    /// The known ancestors, newest first, without the revision itself, and among them those of the candidates that are
    /// known to be superseded without a place in any leaf's history, which are above all the pruned ones.
    ///
    /// A sender gives as candidates what the receiver says that it has (`possibleAncestors` there). The receiver then
    /// learns from the history that these are no leaves.
    ///
    /// In a tree of one leaf a candidate that is named is an ancestor. In a tree of several it is superseded for sure,
    /// but perhaps by another leaf: what a fingerprint says is only that some leaf's history had it. The receiver's
    /// leaves become right all the same; its chain may then name a revision of another branch, which matters to a merge
    /// only, since it might be chosen as the base.
    ///
    /// - Parameter candidates: the receiver's leaves first, as `possibleAncestors` has them: of several candidates of one
    ///   generation the first is named.
    /// - Returns: generations that fall strictly; a candidate of a generation at which an ancestor is known is left out.
    ///   Empty for an unknown revision.
    public func history(of revision: RevisionID, including candidates: [RevisionID]) -> [RevisionID] {
        var marks: [Bool]?
        return history(of: revision, including: candidates) { index in
            let known = marks ?? marksOfHistories()
            marks = known
            return known[index]
        }
    }

    /// The same, where somebody knows which nodes are leaves or in a leaf's history.
    func history(
        of revision: RevisionID, including candidates: [RevisionID], isInHistory: (Int) -> Bool
    ) -> [RevisionID] {
        let history = history(of: revision)
        guard !candidates.isEmpty, index(of: revision) != nil else { return history }
        var claims: [RevisionID] = []
        for claim in superseded(among: candidates, isInHistory) where claim.generation32 < revision.generation32 {
            if !claims.contains(where: { $0.generation32 == claim.generation32 }) { claims.append(claim) }
        }
        guard !claims.isEmpty else { return history }
        var result: [RevisionID] = []
        result.reserveCapacity(history.count + claims.count)
        var rest = history[...]
        for claim in claims.sorted(by: >) {
            while let ancestor = rest.first, ancestor.generation32 >= claim.generation32 {
                result.append(ancestor)
                rest.removeFirst()
            }
            if result.last?.generation32 != claim.generation32 { result.append(claim) }
        }
        return result + rest
    }

    /// Which leaf supersedes a revision, and a history of that leaf which says so, down to the revision: what to send to
    /// a peer that has the revision as a leaf. `nil` when it is a leaf here too, or not known.
    ///
    /// A peer that has the leaf already does not ask for it, and so gets no history. So this is the answer to a peer that
    /// announces a revision which is superseded here; the first and the last of it are proof enough.
    public func supersession(of revision: RevisionID) -> (leaf: RevisionID, history: [RevisionID])? {
        guard contains(revision), !isLeaf(revision), let newest = nodes.last else { return nil }
        for leaf in leaves where leaf.revision.generation32 > revision.generation32 {
            let history = history(of: leaf.revision, including: [revision])
            if let end = history.firstIndex(of: revision) { return (leaf.revision, Array(history[...end])) }
        }
        // Every leaf knows another ancestor of that generation. The claim contradicts that, which links nothing, and
        // the revision is superseded all the same.
        return (newest.revision, [revision])
    }

    /// Those of the revisions that are known and no leaves, and that no leaf's chain of parents leads to.
    private func superseded(among candidates: [RevisionID], _ isInHistory: (Int) -> Bool) -> [RevisionID] {
        candidates.filter { candidate in
            guard let index = index(of: candidate) else { return isPruned(candidate) }
            return !nodes[index].flags.contains(.leaf) && !isInHistory(index)
        }
    }

    /// For each node, whether it is a leaf or in a leaf's history.
    private func marksOfHistories() -> [Bool] {
        var marks = nodes.map { $0.flags.contains(.leaf) }
        // Parents come before their children.
        for index in nodes.indices.reversed() where marks[index] && nodes[index].parent >= 0 {
            marks[Int(nodes[index].parent)] = true
        }
        return marks
    }
}
