import KithDocuments

/// Nodes that edit one document and meet now and then, beside the tree that a node would have that knew all and pruned
/// nothing.
struct PruningRun {
    private(set) var peers: [PruningPeer]
    private var whole = RevisionTree()

    /// The leaves that there really are.
    var leaves: [RevisionID] { whole.leaves.map(\.revision) }
    var leafTexts: [String] { whole.leafTexts }

    init(limits: [Int], correctsPeers: Bool) throws {
        peers = limits.map { PruningPeer(revisionsMax: $0, correctsPeers: correctsPeers) }
        // Something that all begin with, so that later branches have a trunk.
        let first = try RevisionID(generation: 1, digest: "aa")
        try whole.insert(first)
        for index in peers.indices { try peers[index].insert(first, history: []) }
    }

    /// Somebody saves on one node: mostly on its winner, now and then on another leaf, on an old revision, or anew.
    mutating func edit(_ random: inout SeededGenerator) throws {
        let place = Int.random(in: 0..<peers.count, using: &random)
        let tree = peers[place].tree
        let leaf = random.chance(8) ? random.pick(tree.leaves).revision : tree.winner?.revision
        var parent = leaf
        if random.chance(40) { parent = random.pick(tree.entries).revision }
        if random.chance(120) { parent = nil }
        let isDeleted = random.chance(15)
        let made = try RevisionID(
            generation: (parent?.generation ?? 0) + 1, digest: String(random.next() | 1 << 63, radix: 16))
        let history = parent.map { [$0] + whole.history(of: $0) } ?? []
        try whole.insert(made, history: history, isDeleted: isDeleted)
        try peers[place].insert(made, history: parent.map { [$0] } ?? [], isDeleted: isDeleted)
    }

    mutating func exchange(_ a: Int, _ b: Int) throws {
        // Two elements of one array cannot be changed at once.
        var other = peers[b]
        try PruningPeer.exchange(&peers[a], &other)
        peers[b] = other
    }
}
