import KithDocuments

/// A document in conflict, with what is needed to resolve it.
public struct DocumentConflict: Sendable, Equatable {
    /// Where a version parted from the versions before it.
    enum Base: Sendable, Equatable {
        /// From this revision.
        case revision(StoredDocument)
        /// Nowhere: each began as a document of its own.
        case none
        /// From a revision whose body is not kept here.
        case withoutBody(RevisionID)
        /// The histories that are known here do not say.
        case unknown
    }

    /// The document.
    public let id: DocumentID
    /// The live leaves in the order of the winner rule, the winner first; at least two. Where there are more than
    /// `StoreLimits.mergedVersionsMax`, or their bodies have more than `StoreLimits.mergedBytesMax` bytes, the first of
    /// them: the others are in conflict with what these become.
    public let versions: [StoredDocument]
    /// The newest revision that all `versions` descend from; nil when they have none, it is not known, or its body is not
    /// kept.
    public let commonAncestor: StoredDocument?
    /// For each version but the first.
    let bases: [Base]
}

extension DocumentConflict {
    /// What the three-way merge of the versions is: a pure function of the revisions, so that two nodes that have the same
    /// ones resolve the conflict alike.
    ///
    /// Attachments follow the rules of `ThreeWayMerge` too. A tombstone is no version: a branch that was deleted ends there,
    /// and what was written in the others stays.
    ///
    /// - Throws: `.cannotMerge` when it is not certain from where the versions parted, or that revision's body is not kept
    ///   here; `.tooLarge`, `.badDocument` when the merged document would be none.
    public func merged() throws(KithError) -> ConflictResolution {
        var body = versions[0].body
        for (version, base) in zip(versions.dropFirst(), bases) {
            body = try ThreeWayMerge.merge(base: ancestor(base)?.body, winner: body, loser: version.body)
        }
        return .merged(body: body, attachments: try mergedAttachments())
    }

    /// The attachments of all versions, merged by the same rules.
    ///
    /// - Throws: as `merged`.
    func mergedAttachments() throws(KithError) -> AttachmentList {
        var attachments = versions[0].attachments
        for (version, base) in zip(versions.dropFirst(), bases) {
            // Where no version has any, it does not matter from where they parted.
            if attachments.isEmpty, version.attachments.isEmpty { continue }
            attachments = try AttachmentList.merge(
                base: ancestor(base)?.attachments ?? AttachmentList(), winner: attachments, loser: version.attachments)
        }
        return attachments
    }

    /// What a version parted from; nil where the versions have nothing in common.
    private func ancestor(_ base: Base) throws(KithError) -> StoredDocument? {
        switch base {
        case .revision(let document): return document
        case .none: return nil
        case .withoutBody(let revision):
            throw KithError(
                .cannotMerge,
                "Document \(id) cannot be merged here: the body of revision \(revision), from which its versions parted, is not kept",
                remedy: "Resolve it by hand, or let a node do it that has merges switched on since before")
        case .unknown:
            throw KithError(
                .cannotMerge,
                "Document \(id) cannot be merged here: it is not known from which revision its versions parted",
                remedy: "Resolve it by hand, or let a node do it that knows more of its history")
        }
    }
}

extension Snapshot {
    /// A document's live leaves and from where they parted; nil when it is not in conflict.
    public final func conflict(_ id: DocumentID) throws -> DocumentConflict? {
        let connection = try connection
        guard let row = try row(id, connection), row.flags.contains(.isInConflict) else { return nil }
        let tree = try row.tree(connection.databaseName)
        var versions: [StoredDocument] = []
        var bytes = 0
        for leaf in tree.storedLeaves.prefix(StoreLimits.mergedVersionsMax) where !leaf.isDeleted {
            guard versions.count < 2 || bytes < StoreLimits.mergedBytesMax else { break }
            guard let version = try document(id, revision: leaf.revision) else {
                throw DocumentRow.damaged(connection.databaseName, cause: nil)
            }
            bytes += version.body.count
            versions.append(version)
        }
        let revisions = versions.map(\.revision)
        let isCertain = tree.areMergeBasesCertain(of: revisions)
        let ancestors = tree.mergeBases(of: revisions).dropFirst()
        var bodies: [RevisionID: StoredDocument] = [:]
        for case .some(let ancestor) in ancestors where bodies[ancestor] == nil {
            bodies[ancestor] = try document(id, revision: ancestor)
        }
        let bases = ancestors.map { ancestor -> DocumentConflict.Base in
            guard isCertain else { return .unknown }
            guard let ancestor else { return .none }
            return bodies[ancestor].map { .revision($0) } ?? .withoutBody(ancestor)
        }
        // In one tree, the lowest of the bases is an ancestor of all.
        let isShared = isCertain && !ancestors.contains(nil)
        let common = isShared ? ancestors.compactMap { $0 }.min().flatMap { bodies[$0] } : nil
        return DocumentConflict(id: id, versions: versions, commonAncestor: common, bases: bases)
    }
}
