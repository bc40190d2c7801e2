import KithDocuments

/// Reads from what the versions of one document parted.
///
/// Where two versions have merged the same others, each in its own order, they parted from several revisions. Then the base
/// is the merge of these, by the same rules: a field that one of them has changed has there the value that both versions
/// began with. What is read follows from the revisions and from nothing else, bounds included, so that every node that
/// finds a base finds the same one.
struct MergeBaseReader {
    private let snapshot: Snapshot
    private let tree: RevisionTree
    private let winner: StoredDocument
    private let graph: MergeGraph
    /// How many more revisions may be read where a version parted from several.
    private var revisionsLeft = StoreLimits.mergeBasesMax

    init(_ snapshot: Snapshot, _ tree: RevisionTree, winner: StoredDocument) {
        self.snapshot = snapshot
        self.tree = tree
        self.winner = winner
        graph = MergeGraph(tree)
    }

    /// From where a version parted from others that come before it, by the winner rule.
    mutating func base(of version: RevisionID, mergedWith others: [RevisionID]) throws -> MergeBase {
        try base(of: version, mergedWith: others, levels: StoreLimits.mergeBaseLevelsMax)
    }

    private mutating func base(
        of version: RevisionID, mergedWith others: [RevisionID], levels: Int
    ) throws -> MergeBase {
        let bases = graph.bases(of: version, mergedWith: others)
        guard bases.isCertain else { return .unknown }
        guard let first = bases.revisions.first else { return .none }
        let content = try content(first)
        // Beyond the bounds the newest counts alone.
        guard bases.revisions.count > 1, levels > 0, bases.revisions.count <= revisionsLeft else {
            return content.map { .content($0) } ?? .withoutBody(first)
        }
        revisionsLeft -= bases.revisions.count
        guard let content, let merged = try merged(bases.revisions, first: content, levels: levels) else {
            for revision in bases.revisions {
                if let held = try self.content(revision) { return .inPart(held) }
            }
            return .withoutBody(first)
        }
        return .content(merged)
    }

    /// What several bases come to together; nil when not all is here that it takes.
    private mutating func merged(
        _ revisions: [RevisionID], first: MergeContent, levels: Int
    ) throws -> MergeContent? {
        var merged = first
        for place in 1..<revisions.count {
            let ancestor = try base(
                of: revisions[place], mergedWith: Array(revisions[..<place]), levels: levels - 1)
            guard ancestor.isWhole, let next = try content(revisions[place]) else { return nil }
            let result = Result { () throws(KithError) in
                try MergeContent.merge(base: ancestor.content, winner: merged, loser: next)
            }
            // What they come to together may be too large for a document.
            guard case .success(let both) = result else { return first }
            merged = both
        }
        return merged
    }

    /// The newest revision that all versions descend from or have merged; nil when there is none, it is not certain, or its
    /// body is not kept.
    func commonAncestor(of versions: [RevisionID]) throws -> StoredDocument? {
        let common = graph.commonAncestors(of: versions)
        guard common.isCertain, let revision = common.revisions.first else { return nil }
        return try document(revision)
    }

    /// A revision that is not the winner; nil when its body is not kept.
    func document(_ revision: RevisionID) throws -> StoredDocument? {
        guard let entry = tree[revision], entry.hasBody else { return nil }
        let stored = try snapshot.leafBody(winner.id, revision, snapshot.connection)
        return StoredDocument(
            id: winner.id, revision: revision, isDeleted: entry.isDeleted, body: stored.body,
            attachments: stored.attachments, sequence: winner.sequence, leaves: winner.leaves)
    }

    private func content(_ revision: RevisionID) throws -> MergeContent? {
        try document(revision).map(MergeContent.init)
    }
}
