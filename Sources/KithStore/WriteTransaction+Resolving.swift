import KithDocuments

extension WriteTransaction {
    /// Ends a conflict, or a part of it: that of the leaves which is the first by the winner rule gets a child with what
    /// stays, and the others get tombstones, all in this transaction.
    ///
    /// Every revision that this writes follows from what it is given alone, so that two nodes which resolve the same
    /// conflict in the same way make the same revisions. A leaf that is not named is left as it is: nobody has looked at it.
    ///
    /// The child has a merge mark in its history for each of the others (`RevisionID.mergeMark`), also where it says what its
    /// parent says: where one of them goes on elsewhere, merges know what was decided about it.
    ///
    /// - Parameters:
    ///   - id: the document.
    ///   - winner: the live leaf that stays.
    ///   - losers: the live leaves that end.
    ///   - body: the merged body, a JSON object in any form; nil to keep what `winner` says, which stays as it is where it is
    ///     the first and has merged all of `losers` already.
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
        let versions = ([winner] + losers).sorted(by: >)
        var content: MergeContent?
        if let body {
            content = MergeContent(body: body, attachments: attachments)
        } else if try winner != versions[0] || !hasMerged(losers, into: winner, row) {
            content = try document(id, revision: winner).map(MergeContent.init)
        }
        return try end(id, row, versions, with: content, isDeleted: isDeleted)
    }

    /// Ends a conflict between live leaves.
    ///
    /// - Parameters:
    ///   - versions: the leaves in the order of the winner rule. None has a higher generation than the first, so that all
    ///     others can be marked in its child.
    ///   - content: what the first one's child has; nil for no child.
    func end(
        _ id: DocumentID, _ row: DocumentRow, _ versions: [RevisionID], with content: MergeContent?,
        isDeleted: Bool = false
    ) throws -> (revision: RevisionID, sequence: UInt64) {
        var written: [IncomingRevision] = []
        let (first, others) = (versions[0], versions.dropFirst())
        if let content { written.append(try child(of: first, merging: others, id, content, isDeleted: isDeleted)) }
        let stays = written.first?.revision ?? first
        let nothing = MergeContent(body: Array("{}".utf8), attachments: AttachmentList())
        for loser in others { written.append(try child(of: loser, id, nothing, isDeleted: true)) }
        var sequence = row.sequence
        for revision in written {
            // An insertion and not a put: the same may have come from another node without its history.
            if case .inserted(let latest) = try insert(revision) { sequence = latest }
        }
        return (stays, sequence)
    }

    private func hasMerged(_ losers: [RevisionID], into winner: RevisionID, _ row: DocumentRow) throws -> Bool {
        let graph = MergeGraph(try row.tree(connection.databaseName))
        return losers.allSatisfy { graph.bases(of: $0, mergedWith: [winner]).revisions == [$0] }
    }

    private func child(
        of first: RevisionID, merging others: ArraySlice<RevisionID> = [], _ id: DocumentID, _ content: MergeContent,
        isDeleted: Bool
    ) throws -> IncomingRevision {
        var (parent, history) = (first, [first])
        for other in others {
            parent = try RevisionID.mergeMark(of: other, after: parent)
            history.insert(parent, at: 0)
        }
        let (revision, body) = try newRevision(
            id, body: content.body, parent: parent, isDeleted: isDeleted, attachments: content.attachments)
        return IncomingRevision(
            id: id, revision: revision, history: history, isDeleted: isDeleted, body: body,
            attachments: content.attachments)
    }
}
