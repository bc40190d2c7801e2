/// The revisions of one document that are known: which descends from which, and which are leaves.
///
/// A *leaf* is a revision that arrived with its body and that nobody has named as an ancestor. Ancestors that are known
/// only from histories are in the tree without a body. Whatever order revisions and histories arrive in, and however
/// much of a history each sender leaves out, the same arrivals give the same leaves and the same winner.
///
/// Old ancestors can be *pruned*: of each a fingerprint stays, so that it is still known not to be a leaf.
///
/// This type does not keep bodies: `hasBody` is the store's note that it still has one.
///
/// Nodes are kept in the order of their revision IDs, which is also the order of their encoding; so a tree has exactly
/// one encoding. See DESIGN.md in this folder.
public struct RevisionTree: Sendable, Equatable {
    /// One revision as the tree knows it.
    public struct Entry: Sendable, Equatable {
        /// Its ID.
        public let revision: RevisionID
        /// Whether it is a tombstone; `false` for an ancestor known only by name.
        public let isDeleted: Bool
        /// Whether the store still has its body.
        public let hasBody: Bool
        /// Whether nothing descends from it.
        public let isLeaf: Bool
    }

    struct Node: Sendable, Equatable {
        var revision: RevisionID
        /// Index of the nearest known ancestor, or -1.
        var parent: Int32
        var flags: Flags

        static let noParent: Int32 = -1
    }

    struct Flags: OptionSet, Sendable {
        let rawValue: UInt8
        static let deleted = Flags(rawValue: 1)
        static let hasBody = Flags(rawValue: 2)
        static let leaf = Flags(rawValue: 4)
    }

    /// Rising by revision ID. A parent's generation is lower than its child's, so it comes before it.
    var nodes: [Node]
    /// Rising. Each generation is lower than the highest of `nodes`.
    var pruned: [PrunedRevision]

    /// A tree without revisions: the document does not exist.
    public init() {
        nodes = []
        pruned = []
    }

    init(nodes: [Node], pruned: [PrunedRevision]) {
        self.nodes = nodes
        self.pruned = pruned
    }

    /// How many revisions are in the tree, ancestors without body included, pruned ones not.
    public var count: Int { nodes.count }
    /// How many pruned revisions are still known.
    public var prunedCount: Int { pruned.count }
    /// Whether no revision is known.
    public var isEmpty: Bool { nodes.isEmpty }

    /// Whether the revision is known, as a leaf, as an ancestor, or as one that was pruned.
    public func contains(_ revision: RevisionID) -> Bool { index(of: revision) != nil || isPruned(revision) }

    /// What is known of a revision, or `nil` when it is not in the tree, or not any more.
    public subscript(revision: RevisionID) -> Entry? { index(of: revision).map { entry(nodes[$0]) } }

    /// Whether the revision is known and nothing descends from it.
    public func isLeaf(_ revision: RevisionID) -> Bool {
        index(of: revision).map { nodes[$0].flags.contains(.leaf) } ?? false
    }

    /// The leaves in the order of the winner rule, best first: live before deleted, then the higher generation, then the
    /// higher digest as bytes of its lower-case text.
    public var leaves: [Entry] {
        var result: [Entry] = []
        for wantsDeleted in [false, true] {
            for node in nodes.reversed()
            where node.flags.contains(.leaf) && node.flags.contains(.deleted) == wantsDeleted {
                result.append(entry(node))
            }
        }
        return result
    }

    /// The first of `leaves`: the revision that readers see. `nil` only for an empty tree.
    public var winner: Entry? {
        var best: Node?
        for node in nodes.reversed() where node.flags.contains(.leaf) {
            if !node.flags.contains(.deleted) { return entry(node) }
            if best == nil { best = node }
        }
        return best.map(entry)
    }

    /// How many leaves there are.
    public var leafCount: Int { nodes.count { $0.flags.contains(.leaf) } }

    /// How many leaves are not tombstones; a document with more than one is in conflict.
    public var liveLeafCount: Int { nodes.count { $0.flags.contains(.leaf) && !$0.flags.contains(.deleted) } }

    /// The nearest known ancestor, or `nil` for a first revision, one whose ancestors are not known, and one that is
    /// not in the tree.
    public func parent(of revision: RevisionID) -> RevisionID? {
        guard let index = index(of: revision), nodes[index].parent >= 0 else { return nil }
        return nodes[Int(nodes[index].parent)].revision
    }

    /// The known ancestors, newest first, without the revision itself; at most `limit`. Empty for an unknown revision.
    public func history(of revision: RevisionID, limit: Int = .max) -> [RevisionID] {
        guard let start = index(of: revision) else { return [] }
        var result: [RevisionID] = []
        var next = nodes[start].parent
        while next >= 0, result.count < limit {
            result.append(nodes[Int(next)].revision)
            next = nodes[Int(next)].parent
        }
        return result
    }

    /// Revisions known here that an unknown one may descend from: those of lower generation that have a body, leaves
    /// first, then the highest generation; at most `limit`. Those without a body follow when there is room.
    public func possibleAncestors(of revision: RevisionID, limit: Int = 10) -> [RevisionID] {
        var result: [RevisionID] = []
        func take(_ matches: (Flags) -> Bool) {
            for node in nodes.reversed() {
                guard result.count < limit else { return }
                if node.revision.generation32 < revision.generation32, matches(node.flags) {
                    result.append(node.revision)
                }
            }
        }
        take { $0.contains(.leaf) }
        take { !$0.contains(.leaf) && $0.contains(.hasBody) }
        take { !$0.contains(.leaf) && !$0.contains(.hasBody) }
        return result
    }

    /// Every revision known, rising by ID.
    public var entries: [Entry] { nodes.map(entry) }

    /// Notes that the store has dropped, or has again, the body of a revision. The body of a leaf is never dropped.
    public mutating func setHasBody(_ hasBody: Bool, of revision: RevisionID) {
        guard let index = index(of: revision), !nodes[index].flags.contains(.leaf) else { return }
        if hasBody { nodes[index].flags.insert(.hasBody) } else { nodes[index].flags.remove(.hasBody) }
    }

    /// Notes that the store keeps the bodies of leaves only.
    public mutating func dropBodiesOfAncestors() {
        for index in nodes.indices where !nodes[index].flags.contains(.leaf) { nodes[index].flags.remove(.hasBody) }
    }

    /// Index of a revision, looked for among the first `limit` nodes.
    func index(of revision: RevisionID, amongFirst limit: Int? = nil) -> Int? {
        var low = 0
        var high = limit ?? nodes.count
        // Nearly always the newest revision is asked for.
        if high > 0, nodes[high - 1].revision == revision { return high - 1 }
        while low < high {
            let middle = (low + high) >> 1
            if nodes[middle].revision < revision { low = middle + 1 } else { high = middle }
        }
        let end = limit ?? nodes.count
        return low < end && nodes[low].revision == revision ? low : nil
    }

    private func entry(_ node: Node) -> Entry {
        Entry(
            revision: node.revision, isDeleted: node.flags.contains(.deleted),
            hasBody: node.flags.contains(.hasBody), isLeaf: node.flags.contains(.leaf))
    }
}
