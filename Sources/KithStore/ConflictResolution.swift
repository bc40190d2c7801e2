import KithDocuments

/// How a conflict ends. Versions that do not stay get a tombstone.
public enum ConflictResolution: Sendable, Equatable {
    /// One of the versions stays: the winner as it is, another one as a child of it that says the same, so that nothing is
    /// lost where two nodes keep different ones.
    case keep(RevisionID)
    /// The winner gets a child with this body, a JSON object in any form, and these attachments, whose bytes are stored
    /// already; nil for those of all versions, merged. Where that is what the winner has, it stays as it is.
    case merged(body: [UInt8], attachments: AttachmentList? = nil)
    /// The document is deleted.
    case delete
}

extension WriteTransaction {
    /// Ends a conflict as it was looked at.
    ///
    /// - Returns: the revision that stays, and the document's new sequence.
    /// - Throws: `.conflict` when the document has changed since; `.badRequest` for a version to be kept that is none of them;
    ///   and as `resolve(_:winner:losers:body:isDeleted:attachments:)`. Nothing is written then.
    @discardableResult
    public func resolve(
        _ conflict: DocumentConflict, as resolution: ConflictResolution
    ) throws -> (revision: RevisionID, sequence: UInt64) {
        let (id, winner) = (conflict.id, conflict.versions[0])
        guard let now = try document(id)?.leaves, now == winner.leaves else {
            throw KithError(
                .conflict, "Document \(id) has changed since its conflict was looked at", remedy: "Look at it again")
        }
        let revisions = conflict.versions.map(\.revision)
        switch resolution {
        case .keep(let kept):
            guard revisions.contains(kept) else {
                throw KithError(.badRequest, "Revision \(kept) is none of the versions of document \(id) in conflict")
            }
            return try resolve(id, winner: kept, losers: revisions.filter { $0 != kept })
        case .merged(let body, let given):
            let attachments = try given ?? conflict.mergedAttachments()
            // Otherwise nodes that merge in different orders would go on making revisions that say the same.
            let isSame =
                try attachments.hasSameContent(as: winner.attachments)
                && canonicalize(body, id) == winner.body
            return try resolve(
                id, winner: winner.revision, losers: Array(revisions.dropFirst()), body: isSame ? nil : body,
                attachments: isSame ? AttachmentList() : attachments)
        case .delete:
            return try resolve(
                id, winner: winner.revision, losers: Array(revisions.dropFirst()), body: Array("{}".utf8),
                isDeleted: true)
        }
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
        let resolved = try resolve(conflict, as: conflict.merged(isPatient: isPatient))
        // Where all that it would write is known here already, there is nothing to go on with.
        return resolved.sequence == conflict.versions[0].sequence ? nil : resolved.revision
    }
}
