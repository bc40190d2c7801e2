import KithDocuments

extension WriteTransaction {
    /// Ends a conflict, or a part of it: the losers get tombstones, and the leaf that stays gets a child with the merged
    /// body, all in this transaction.
    ///
    /// Every revision that this writes follows from what it is given alone, so that two nodes which resolve the same
    /// conflict in the same way make the same revisions. A leaf that is not named is left as it is: nobody has looked at it.
    ///
    /// A merged revision has a merge mark in its history for each loser that is not of a higher generation
    /// (`RevisionID.mergeMark`): where one of them goes on elsewhere, later merges know what they have of it.
    ///
    /// - Parameters:
    ///   - id: the document.
    ///   - winner: the live leaf that stays, or becomes the parent of the merged body. For a merge take the document's
    ///     winner: then other nodes choose the same.
    ///   - losers: the live leaves that end.
    ///   - body: the merged body, a JSON object in any form; nil to keep what `winner` says. The document's winner then
    ///     stays as it is; another leaf gets a child that says the same. Otherwise two nodes that keep different leaves
    ///     would end up with tombstones on all of them.
    ///   - isDeleted: whether the merge deletes the document.
    ///   - attachments: all attachments of the merged revision, whose bytes are stored already.
    /// - Returns: the revision that stays, and the document's new sequence.
    /// - Throws: `.notFound` when there is no such document; `.conflict` when a revision that is named is no live leaf of it
    ///   any more; `.badRequest` when `losers` is empty or has `winner` or a revision twice; `.badDocument`, `.tooLarge` for
    ///   the body. Nothing is written then.
    @discardableResult
    public func resolve(
        _ id: DocumentID, winner: RevisionID, losers: [RevisionID], body: [UInt8]? = nil, isDeleted: Bool = false,
        attachments: AttachmentList = AttachmentList()
    ) throws -> (revision: RevisionID, sequence: UInt64) {
        let connection = try connection
        guard let row = try row(id, connection) else {
            throw KithError(.notFound, "There is no document \(id)")
        }
        guard !losers.isEmpty, Set(losers).count == losers.count, !losers.contains(winner) else {
            throw KithError(
                .badRequest,
                "The revisions that lose in document \(id) must be others than the one that stays, each once")
        }
        let leaves = try row.leaves(connection.databaseName)
        for revision in [winner] + losers where !leaves.contains(Leaf(revision: revision, isDeleted: false)) {
            throw KithError(
                .conflict, "Revision \(revision) is not, or no longer, a live leaf of document \(id)",
                remedy: "Look at the conflict again, and resolve what is there now")
        }
        var written: [IncomingRevision] = []
        if let body {
            written.append(
                try child(of: winner, merging: losers, id, body: body, isDeleted: isDeleted, attachments))
        } else if winner != row.winner.revision, let kept = try document(id, revision: winner) {
            written.append(try child(of: winner, id, body: kept.body, isDeleted: false, kept.attachments))
        }
        let stays = written.first?.revision ?? winner
        for loser in losers {
            written.append(try child(of: loser, id, body: Array("{}".utf8), isDeleted: true, AttachmentList()))
        }
        var sequence = row.sequence
        for revision in written {
            // An insertion and not a put: the same may have come from another node without its history.
            if case .inserted(let latest) = try insert(revision) { sequence = latest }
        }
        return (stays, sequence)
    }

    private func child(
        of winner: RevisionID, merging losers: [RevisionID] = [], _ id: DocumentID, body: [UInt8], isDeleted: Bool,
        _ attachments: AttachmentList
    ) throws -> IncomingRevision {
        var (parent, history) = (winner, [winner])
        for loser in losers.sorted(by: >) where loser.generation <= winner.generation {
            parent = try RevisionID.mergeMark(of: loser, after: parent)
            history.insert(parent, at: 0)
        }
        let (revision, body) = try newRevision(
            id, body: body, parent: parent, isDeleted: isDeleted, attachments: attachments)
        return IncomingRevision(
            id: id, revision: revision, history: history, isDeleted: isDeleted, body: body, attachments: attachments)
    }
}
