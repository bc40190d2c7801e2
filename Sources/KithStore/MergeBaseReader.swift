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
    /// How many more bytes these may have. The body that goes beyond is still read.
    private var bytesLeft: Int

    init(
        _ snapshot: Snapshot, _ tree: RevisionTree, winner: StoredDocument, bytesMax: Int = StoreLimits.mergedBytesMax
    ) {
        bytesLeft = bytesMax
        self.snapshot = snapshot
        self.tree = tree
        self.winner = winner
        graph = MergeGraph(tree)
    }

    /// Where a version parted from others that come before it, by the winner rule.
    mutating func parting(of version: RevisionID, from others: [RevisionID]) throws -> MergeParting {
        let bases = graph.bases(of: version, mergedWith: others)
        let base = try content(of: bases, levels: StoreLimits.mergeBaseLevelsMax)
        if bases.isCertain, let decisions = bases.decisions, let overruled = try overruled(decisions, base) {
            return MergeParting(base: overruled, origins: MergeOrigins(isWhole: true), bringsEdits: bases.bringsEdits)
        }
        var origins = MergeOrigins(isWhole: bases.areOriginsKnown)
        if base.content != nil {
            origins.winner = try contents(bases.origins.others, isWhole: &origins.isWhole)
            origins.loser = try contents(bases.origins.version, isWhole: &origins.isWhole)
        }
        return MergeParting(base: base, origins: origins, bringsEdits: bases.bringsEdits)
    }

    /// The base where both sides have decided about the same versions, and neither as a merge does: the decision of the lower
    /// revision. So the other one stands as a whole, with what was edited on both since.
    ///
    /// From the versions' own base each side would be seen to take back what the other one has kept, and nothing would be left.
    private func overruled(
        _ decisions: (others: RevisionID, version: RevisionID), _ base: MergeBase
    ) throws -> MergeBase? {
        let lower = min(decisions.others, decisions.version)
        let (one, other) = (try decided(decisions.others), try decided(decisions.version))
        if case .content(let merged) = base, one?.isSame(as: merged) == true || other?.isSame(as: merged) == true {
            return nil
        }
        return (lower == decisions.others ? one : other).map { .content($0) } ?? .withoutBody(lower)
    }

    private func decided(_ revision: RevisionID) throws -> MergeContent? {
        revision == winner.revision ? MergeContent(winner) : try content(revision)
    }

    /// The contents of origins, the highest first, within the bounds.
    private mutating func contents(_ revisions: [RevisionID], isWhole: inout Bool) throws -> [MergeContent] {
        var contents: [MergeContent] = []
        for revision in revisions {
            guard revisionsLeft > 0, bytesLeft > 0 else { break }
            revisionsLeft -= 1
            guard let content = try content(revision) else {
                isWhole = false
                continue
            }
            bytesLeft -= content.body.count
            contents.append(content)
        }
        return contents
    }

    private mutating func content(of bases: MergeGraph.Bases, levels: Int) throws -> MergeBase {
        guard bases.isCertain else { return .unknown }
        guard let first = bases.revisions.first else { return .none }
        let content = try content(first)
        // Beyond the bounds the newest counts alone.
        guard bases.revisions.count > 1, levels > 0, bases.revisions.count <= revisionsLeft, bytesLeft > 0 else {
            return content.map { .content($0) } ?? .withoutBody(first)
        }
        revisionsLeft -= bases.revisions.count
        bytesLeft -= content?.body.count ?? 0
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
            let parted = graph.bases(of: revisions[place], mergedWith: Array(revisions[..<place]))
            let ancestor = try content(of: parted, levels: levels - 1)
            guard ancestor.isWhole, let next = try content(revisions[place]) else { return nil }
            bytesLeft -= next.body.count
            // Beyond the bounds the newest counts alone.
            guard bytesLeft >= 0 else { return first }
            let result = Result { () throws(KithError) in
                try MergeContent.merge(base: ancestor.content, winner: merged, loser: next).content
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
