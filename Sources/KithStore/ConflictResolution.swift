import KithDocuments

/// How a conflict ends. Versions that do not stay get a tombstone.
public enum ConflictResolution: Sendable, Equatable {
    /// One of the versions stays: the winner gets a child with what that one has.
    case keep(RevisionID)
    /// The winner gets a child with this body, a JSON object in any form, and these attachments, whose bytes are stored
    /// already; nil for those of all versions, merged.
    case merged(body: [UInt8], attachments: AttachmentList? = nil)
    /// The document is deleted.
    case delete
}

extension WriteTransaction {
    /// Ends a conflict as it was looked at.
    ///
    /// Where the winner's child would say what the winner says, it is written all the same, since its history tells that the
    /// others were merged; but not where it told nothing new (`DocumentConflict.winnerHasAll`).
    ///
    /// - Returns: the revision that stays, and the document's new sequence.
    /// - Throws: `.conflict` when the document has changed since; `.badRequest` for a version to be kept that is none of them;
    ///   `.cannotMerge` where attachments are to be merged and it is not known well enough from where the versions parted;
    ///   and as `resolve(_:winner:losers:body:isDeleted:attachments:)`. Nothing is written then.
    @discardableResult
    public func resolve(
        _ conflict: DocumentConflict, as resolution: ConflictResolution
    ) throws -> (revision: RevisionID, sequence: UInt64) {
        try resolve(conflict, as: resolution, isPatient: true)
    }

    /// The same.
    ///
    /// - Parameter isPatient: as in `DocumentConflict.merged(isPatient:)`, where attachments are to be merged.
    func resolve(
        _ conflict: DocumentConflict, as resolution: ConflictResolution, isPatient: Bool
    ) throws -> (revision: RevisionID, sequence: UInt64) {
        let (id, winner) = (conflict.id, conflict.versions[0])
        guard let row = try row(id, connection), try document(id)?.leaves == winner.leaves else {
            throw KithError(
                .conflict, "Document \(id) has changed since its conflict was looked at", remedy: "Look at it again")
        }
        let versions = conflict.versions.map(\.revision)
        let content: MergeContent
        switch resolution {
        case .keep(let kept):
            guard let version = conflict.versions.first(where: { $0.revision == kept }) else {
                throw KithError(.badRequest, "Revision \(kept) is none of the versions of document \(id) in conflict")
            }
            content = MergeContent(version)
        case .merged(let body, let attachments):
            content = MergeContent(
                body: try canonicalize(body, id),
                attachments: try attachments ?? conflict.mergedAttachments(isPatient: isPatient))
        case .delete:
            content = MergeContent(body: Array("{}".utf8), attachments: AttachmentList())
            return try end(id, row, versions, with: content, isDeleted: true)
        }
        // Otherwise nodes that merge in different orders would go on making revisions that say the same.
        let isTold = conflict.winnerHasAll && content.isSame(as: MergeContent(winner))
        return try end(id, row, versions, with: isTold ? nil : content)
    }

    /// Merges a document in conflict, as `DocumentConflict.merged` says; does nothing when it is not in conflict.
    ///
    /// - Returns: the revision that stays, nil when there was nothing to do.
    /// - Throws: as `DocumentConflict.merged`, `.attachmentMissing`. Nothing is written then, and the transaction goes on.
    @discardableResult
    public func mergeConflict(_ id: DocumentID) throws -> RevisionID? {
        guard let conflict = try conflict(id) else { return nil }
        return try merge(conflict, isPatient: true)
    }

    /// Merges a conflict that was read in this transaction.
    func merge(_ conflict: DocumentConflict, isPatient: Bool) throws -> RevisionID? {
        let resolved = try resolve(conflict, as: conflict.merged(isPatient: isPatient), isPatient: isPatient)
        // Where all that it would write is known here already, there is nothing to go on with.
        return resolved.sequence == conflict.versions[0].sequence ? nil : resolved.revision
    }
}
