import KithDocuments

/// A node that keeps one document and prunes its tree, as far as revision trees are concerned.
struct PruningPeer {
    private(set) var tree = RevisionTree()
    let revisionsMax: Int
    /// Whether it answers a peer that announces a superseded revision (`RevisionTree.supersession`).
    let correctsPeers: Bool

    init(revisionsMax: Int, correctsPeers: Bool = true) {
        self.revisionsMax = revisionsMax
        self.correctsPeers = correctsPeers
    }

    mutating func insert(_ revision: RevisionID, history: [RevisionID], isDeleted: Bool = false) throws {
        try tree.insert(revision, history: history, isDeleted: isDeleted)
        if tree.count > revisionsMax { tree.prune(toDepth: revisionsMax) }
        // Every tree goes through the disk.
        tree = try RevisionTree(decoding: tree.encoded())
    }

    /// Announces its leaves to a peer, and sends what the peer does not know: changes, known?, history with proof.
    func push(to peer: inout PruningPeer) throws {
        for leaf in tree.leaves {
            if !peer.tree.contains(leaf.revision) {
                // Told ten, a peer with more leaves than that may keep a false one until it is corrected.
                let candidates = peer.tree.possibleAncestors(of: leaf.revision, limit: correctsPeers ? 10 : .max)
                try peer.insert(
                    leaf.revision, history: tree.history(of: leaf.revision, including: candidates),
                    isDeleted: leaf.isDeleted)
            }
        }
    }

    /// Takes what a peer announces: what is superseded here is told to it, with the leaf that supersedes it.
    func correct(_ peer: inout PruningPeer) throws {
        guard correctsPeers else { return }
        for leaf in peer.tree.leaves {
            guard let proof = tree.supersession(of: leaf.revision) else { continue }
            let isDeleted = tree[proof.leaf]?.isDeleted == true
            try peer.insert(proof.leaf, history: proof.history, isDeleted: isDeleted)
        }
    }

    /// Both directions.
    static func exchange(_ a: inout PruningPeer, _ b: inout PruningPeer) throws {
        try a.push(to: &b)
        try b.correct(&a)
        try b.push(to: &a)
        try a.correct(&b)
    }
}
