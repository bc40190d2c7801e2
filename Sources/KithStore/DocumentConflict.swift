import KithDocuments

/// A document in conflict, with what is needed to resolve it.
public struct DocumentConflict: Sendable, Equatable {
    /// The document.
    public let id: DocumentID
    /// The live leaves in the order of the winner rule, the winner first; at least two. Where there are more than
    /// `StoreLimits.mergedVersionsMax`, or they and their bases have more than `StoreLimits.mergedBytesMax` bytes, the first
    /// of them: the others are in conflict with what these become.
    public let versions: [StoredDocument]
    /// The newest revision that all `versions` descend from or have merged; nil when they have none, it is not known, or its
    /// body is not kept.
    public let commonAncestor: StoredDocument?
    /// Where each version but the first parted from those before it.
    let partings: [MergeParting]

    /// Whether the winner has all edits of the others, so that no merge mark has to say so. What they may have else is what
    /// merges took, which gives way to edits.
    var winnerHasAll: Bool { !partings.contains(where: \.bringsEdits) }
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
    public func merged() throws(KithError) -> ConflictResolution { try merged(isPatient: true) }

    /// The same.
    ///
    /// - Parameter isPatient: false to go by what is here where versions parted from several revisions of which others have
    ///   more: then nodes that have other parts may come to another body, and a field that was changed again after it was
    ///   merged may have the value from before.
    func merged(isPatient: Bool) throws(KithError) -> ConflictResolution {
        if isPatient, !partings.allSatisfy(\.base.isWhole), isKnownInPart { throw waiting }
        var merged = MergeContent(versions[0])
        for (version, parting) in zip(versions.dropFirst(), partings) {
            let (content, hasClash) = try MergeContent.merge(
                base: content(parting.base), winner: merged, loser: MergeContent(version), origins: parting.origins)
            if isPatient, hasClash, !parting.origins.isWhole { throw waiting }
            merged = content
        }
        return .merged(body: merged.body, attachments: merged.attachments)
    }

    /// Whether it can be merged, but only by a part of what the versions parted from: a node that has all of it should be
    /// first.
    var isKnownInPart: Bool {
        partings.allSatisfy { $0.base.isWhole || $0.base.content != nil }
            && !partings.allSatisfy { $0.base.isWhole && $0.origins.isWhole }
    }

    private var waiting: KithError {
        KithError(
            .cannotMerge,
            "Document \(id) is not merged here yet: not all revisions from which its versions parted are kept, and another node may have them",
            remedy: "Wait, or resolve it by hand")
    }

    /// The attachments of all versions, merged by the same rules.
    ///
    /// - Throws: as `merged`.
    func mergedAttachments(isPatient: Bool) throws(KithError) -> AttachmentList {
        guard versions.contains(where: { !$0.attachments.isEmpty }) else { return AttachmentList() }
        if isPatient, !partings.allSatisfy(\.base.isWhole), isKnownInPart { throw waiting }
        var attachments = versions[0].attachments
        for (version, parting) in zip(versions.dropFirst(), partings) {
            // Where no version has any, it does not matter from where they parted.
            if attachments.isEmpty, version.attachments.isEmpty { continue }
            let (merged, hasClash) = try AttachmentList.merge(
                base: content(parting.base)?.attachments ?? AttachmentList(), winner: attachments,
                loser: version.attachments, winnerOrigins: parting.origins.winner.map(\.attachments),
                loserOrigins: parting.origins.loser.map(\.attachments))
            if isPatient, hasClash, !parting.origins.isWhole { throw waiting }
            attachments = merged
        }
        return attachments
    }

    /// Bytes of the bodies that it holds.
    var byteCount: Int { versions.reduce(0) { $0 + $1.body.count } + partings.reduce(0) { $0 + $1.byteCount } }

    /// What a version parted from; nil where the versions have nothing in common.
    private func content(_ base: MergeBase) throws(KithError) -> MergeContent? {
        switch base {
        case .content(let content), .inPart(let content): return content
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
        guard let row = try row(id, connection), row.flags.contains(.isInConflict), let winner = try document(id) else {
            return nil
        }
        var reader = MergeBaseReader(self, try row.tree(connection.databaseName), winner: winner)
        var versions = [winner]
        var partings: [MergeParting] = []
        var bytes = winner.body.count
        for leaf in winner.leaves.prefix(StoreLimits.mergedVersionsMax).dropFirst() where !leaf.isDeleted {
            guard versions.count < 2 || bytes < StoreLimits.mergedBytesMax else { break }
            guard let version = try reader.document(leaf.revision) else {
                throw DocumentRow.damaged(connection.databaseName, cause: nil)
            }
            let parting = try reader.parting(of: leaf.revision, from: versions.map(\.revision))
            bytes += version.body.count + parting.byteCount
            partings.append(parting)
            versions.append(version)
        }
        return DocumentConflict(
            id: id, versions: versions, commonAncestor: try reader.commonAncestor(of: versions.map(\.revision)),
            partings: partings)
    }
}
