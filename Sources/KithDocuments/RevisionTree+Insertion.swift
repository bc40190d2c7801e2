extension RevisionTree {
    /// What an insertion did.
    public enum Insertion: Sendable, Equatable {
        /// The revision was known, perhaps as one that was pruned, and the history told nothing new: nothing changed.
        case alreadyPresent
        /// The revision was known, but its history told of ancestors that were not known as such. The tree must be
        /// stored; `leavesChanged` tells that a former leaf turned out to be an ancestor.
        case historyExtended(leavesChanged: Bool)
        /// The revision is a new leaf below `parent`, or a new root when that is `nil`. `parentWasLeaf` tells that it
        /// took the place of a leaf and did not start a branch.
        case inserted(parent: RevisionID?, parentWasLeaf: Bool)
    }

    /// Adds a revision, and the ancestors named in its history, those that are missing without a body.
    ///
    /// The history need not be complete: it may stop anywhere and may skip generations. It only must fall strictly. A
    /// history is taken as the sender's word that each of these revisions is an ancestor, also when the revision is
    /// known already; so a revision that was a leaf here, because its descendants came without their history, ceases to
    /// be one. Where two histories name different revisions of one generation, the first one stays the parent, and the
    /// other is kept as a superseded revision: in either order neither of them is a leaf.
    ///
    /// A revision that was pruned stays so: it is known, and neither it nor what a history names behind it comes back
    /// into the tree.
    ///
    /// - Parameters:
    ///   - revision: the revision that arrived, with its body.
    ///   - history: its ancestors, newest first, without itself.
    ///   - isDeleted: whether it is a tombstone. Ignored when the revision is known.
    /// - Throws: `bad_document` when the history does not fall strictly; `too_large` when the tree would have more than
    ///   `DocumentLimits.treeRevisionsMax` revisions. The tree is then unchanged.
    @discardableResult
    public mutating func insert(
        _ revision: RevisionID, history: [RevisionID] = [], isDeleted: Bool = false
    ) throws(KithError) -> Insertion {
        let historyCount = min(history.count, DocumentLimits.historyRevisionsMax)
        var previous = revision.generation32
        for position in 0..<historyCount {
            let generation = history[position].generation32
            guard generation < previous else {
                throw KithError(
                    .badDocument,
                    "the history of revision \(revision) does not descend: generation \(generation) follows \(previous)"
                )
            }
            previous = generation
        }
        guard nodes.count + historyCount < DocumentLimits.treeRevisionsMax else {
            throw KithError(.tooLarge, "the document has more than \(DocumentLimits.treeRevisionsMax) revisions")
        }
        guard !pruned.isEmpty else {
            return insertChecked(revision, history: history, historyCount: historyCount, isDeleted: isDeleted)
        }
        if isPruned(revision) {
            let change = supersede(history[..<historyCount])
            return change.hasChanged ? .historyExtended(leavesChanged: change.leavesChanged) : .alreadyPresent
        }
        // What comes behind a pruned revision is its ancestor, and superseded: it is noted as pruned too, and not added
        // to the tree again.
        let cut = history[..<historyCount].firstIndex(where: isPruned) ?? historyCount
        let outcome = insertChecked(revision, history: history, historyCount: cut, isDeleted: isDeleted)
        let change = supersede(history[cut..<historyCount])
        guard change.hasChanged else { return outcome }
        switch outcome {
        case .inserted: return outcome
        case .alreadyPresent: return .historyExtended(leavesChanged: change.leavesChanged)
        case .historyExtended(let leavesChanged):
            return .historyExtended(leavesChanged: leavesChanged || change.leavesChanged)
        }
    }

    private mutating func insertChecked(
        _ revision: RevisionID, history: [RevisionID], historyCount: Int, isDeleted: Bool
    ) -> Insertion {
        // New nodes go to the end and are sorted in afterwards. They are never looked up: the entries of a history are
        // all different, and each is looked at once.
        let sortedCount = nodes.count
        let present = index(of: revision)
        if present == nil {
            nodes.append(
                Node(
                    revision: revision, parent: Node.noParent,
                    flags: isDeleted ? [.leaf, .hasBody, .deleted] : [.leaf, .hasBody]))
        }
        let start = present ?? sortedCount
        var linker = Linker(current: start, sortedCount: sortedCount)
        for position in 0..<historyCount { linker.claim(history[position], in: &nodes) }
        linker.finish(in: &nodes)

        var parent: RevisionID?
        var parentWasLeaf = false
        if present == nil, nodes[start].parent >= 0 {
            let index = Int(nodes[start].parent)
            parent = nodes[index].revision
            parentWasLeaf = linker.formerLeaves.contains(index)
        }
        if nodes.count > sortedCount { restoreOrder(from: sortedCount) }
        if present == nil { return .inserted(parent: parent, parentWasLeaf: parentWasLeaf) }
        guard linker.hasChanged else { return .alreadyPresent }
        return .historyExtended(leavesChanged: !linker.formerLeaves.isEmpty)
    }

    /// Walks down from a revision and puts the ancestors that a history claims into its chain, at their generations.
    private struct Linker {
        /// The node whose parent is looked at next; every claim still to come is older than it.
        var current: Int
        /// Nodes before this are in order and can be searched.
        let sortedCount: Int
        /// Former parents that must still be put into the chain, oldest first. Nearly always empty.
        var displaced: [Int] = []
        var formerLeaves: [Int] = []
        var hasChanged = false

        init(current: Int, sortedCount: Int) {
            self.current = current
            self.sortedCount = sortedCount
        }

        mutating func claim(_ ancestor: RevisionID, in nodes: inout [Node]) {
            while let last = displaced.last, nodes[last].revision.generation32 > ancestor.generation32 {
                displaced.removeLast()
                link(nodes[last].revision, at: last, in: &nodes)
            }
            link(ancestor, at: nil, in: &nodes)
        }

        mutating func finish(in nodes: inout [Node]) {
            while let last = displaced.popLast() { link(nodes[last].revision, at: last, in: &nodes) }
        }

        private mutating func link(_ ancestor: RevisionID, at known: Int?, in nodes: inout [Node]) {
            var parent = Int(nodes[current].parent)
            while parent >= 0, nodes[parent].revision.generation32 > ancestor.generation32 {
                current = parent
                parent = Int(nodes[current].parent)
            }
            if parent >= 0, nodes[parent].revision == ancestor {
                current = parent
                return
            }
            let isContradicted =
                nodes[current].revision.generation32 == ancestor.generation32
                || parent >= 0 && nodes[parent].revision.generation32 == ancestor.generation32
            let index = known ?? findOrAppend(ancestor, in: &nodes)
            if nodes[index].flags.contains(.leaf) {
                nodes[index].flags.remove(.leaf)
                formerLeaves.append(index)
                hasChanged = true
            }
            // Two claims for one generation: the one that is in the chain stays.
            guard !isContradicted else { return }
            nodes[current].parent = Int32(truncatingIfNeeded: index)
            hasChanged = true
            current = index
            guard parent >= 0 else { return }
            if index >= sortedCount {
                nodes[index].parent = Int32(truncatingIfNeeded: parent)
            } else if nodes[index].parent != parent {
                let generation = nodes[parent].revision.generation32
                let place = displaced.firstIndex { nodes[$0].revision.generation32 >= generation } ?? displaced.count
                displaced.insert(parent, at: place)
            }
        }

        private mutating func findOrAppend(_ revision: RevisionID, in nodes: inout [Node]) -> Int {
            var low = 0
            var high = sortedCount
            while low < high {
                let middle = (low + high) >> 1
                if nodes[middle].revision < revision { low = middle + 1 } else { high = middle }
            }
            if low < sortedCount, nodes[low].revision == revision { return low }
            nodes.append(Node(revision: revision, parent: Node.noParent, flags: []))
            hasChanged = true
            return nodes.count - 1
        }
    }

    /// Sorts nodes appended from `sortedCount` on into their places.
    private mutating func restoreOrder(from sortedCount: Int) {
        if nodes.count == sortedCount + 1,
            sortedCount == 0 || nodes[sortedCount - 1].revision < nodes[sortedCount].revision
        {
            return
        }
        let order = nodes.indices.sorted { nodes[$0].revision < nodes[$1].revision }
        var places = [Int32](repeating: Node.noParent, count: order.count)
        for (place, index) in order.enumerated() { places[index] = Int32(truncatingIfNeeded: place) }
        nodes = order.map { index in
            var node = nodes[index]
            if node.parent >= 0 { node.parent = places[Int(node.parent)] }
            return node
        }
    }
}
