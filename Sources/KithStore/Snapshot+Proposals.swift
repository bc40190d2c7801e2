import KithDocuments

extension Snapshot {
    /// Says of each proposal whether it would make a conflict, in the order of the question.
    ///
    /// A revision makes none when the document is not here, when it descends from the winner, and when it begins a document
    /// anew whose winner is a tombstone.
    public final func judge(_ proposals: [Proposal]) throws -> [ProposalAnswer] {
        let connection = try connection
        return try proposals.map { proposal in
            guard let row = try row(proposal.id, connection) else { return .acceptable }
            if row.winner.revision == proposal.revision { return .known }
            if !row.isSingle, try row.tree(connection.databaseName).contains(proposal.revision) { return .known }
            if let parent = proposal.parent {
                return parent == row.winner.revision ? .acceptable : .conflict(winner: row.winner.revision)
            }
            return row.winner.isDeleted ? .acceptable : .conflict(winner: row.winner.revision)
        }
    }
}

extension IncomingRevision {
    /// Refuses a revision that would make a conflict, by the rule of `Snapshot.judge`: its parent is the newest of its
    /// ancestors that the document has. A tombstone may end any branch.
    ///
    /// - Throws: `.conflict`.
    func refuseConflict(with tree: RevisionTree) throws(KithError) {
        guard let winner = tree.winner, !tree.contains(revision) else { return }
        if let parent = history.first(where: tree.contains) {
            if parent == winner.revision || (isDeleted && tree.isLeaf(parent)) { return }
        } else if winner.isDeleted {
            return
        }
        throw KithError(
            .conflict,
            "Revision \(revision) of document \(id.text) does not descend from the current one, \(winner.revision)",
            remedy: "Pull the document, and write a child of its current revision")
    }
}
