import KithDocuments

extension Snapshot {
    /// A document's winner; nil when there is no such document.
    public final func winner(of id: DocumentID) throws -> Leaf? { try row(id, connection)?.winner }

    /// Says of each revision whether it is stored, in the order of the question.
    public final func lookup(_ revisions: [(DocumentID, RevisionID)]) throws -> [RevisionLookup] {
        let connection = try connection
        var answers: [RevisionLookup] = []
        answers.reserveCapacity(revisions.count)
        for (id, revision) in revisions {
            answers.append(try lookup(id, revision, connection))
        }
        return answers
    }

    private func lookup(
        _ id: DocumentID, _ revision: RevisionID, _ connection: SQLiteConnection
    ) throws -> RevisionLookup {
        guard let row = try row(id, connection) else { return .missing(ancestors: []) }
        if row.winner.revision == revision, !row.flags.contains(.hasBranches) { return .known }
        if row.isSingle {
            return .missing(
                ancestors: row.winner.revision.generation < revision.generation ? [row.winner.revision] : [])
        }
        let tree = try row.tree(connection.databaseName)
        if tree.isLeaf(revision) {
            return .branch(others: tree.leaves.map(\.revision).filter { $0 != revision })
        }
        if let (leaf, _) = tree.supersession(of: revision) { return .superseded(leaf: leaf) }
        return .missing(ancestors: tree.possibleAncestors(of: revision, limit: StoreLimits.ancestorsMax))
    }

    /// A leaf with its body and history, to be sent to another node.
    ///
    /// - Parameters:
    ///   - id: the document.
    ///   - revision: the leaf.
    ///   - sequence: the sequence that the document had when it was heard of. Where it still has it, it is found without
    ///     its ID; documents that follow each other are next to each other so.
    ///   - ancestors: revisions that the other node has and this one may descend from; those that are ancestors are in the
    ///     history even where they were pruned here, so that the other node knows them to be superseded.
    /// - Returns: nil when it is not a leaf of the document (any more): a newer revision has come, which has its own
    ///   change.
    public final func revisionForTransfer(
        _ id: DocumentID, _ revision: RevisionID, at sequence: UInt64? = nil, knowing ancestors: [RevisionID] = []
    ) throws -> RevisionForTransfer? {
        let connection = try connection
        typealias Found = (row: DocumentRow, stored: (body: [UInt8], attachments: AttachmentList)?)
        func find(_ query: StoreQuery, at sequence: UInt64?) throws -> Found? {
            try connection.with(query, in: number) { statement in
                statement.bind(id, at: 1)
                if let sequence { statement.bind(sequence, at: 2) }
                guard try statement.step() else { return nil }
                let row = try DocumentRow(statement, first: 0)
                return (row, row.winner.revision == revision ? (statement.bytes(4), try statement.attachments(5)) : nil)
            }
        }
        var found: Found?
        if let sequence { found = try find(.documentWithBodyAt, at: sequence) }
        if found == nil { found = try find(.documentWithBody, at: nil) }
        guard let (row, winner) = found else { return nil }
        if row.isSingle {
            return winner.map {
                RevisionForTransfer(
                    id: id, revision: revision, isDeleted: row.winner.isDeleted, body: $0.body,
                    attachments: $0.attachments,
                    history: [])
            }
        }
        if winner == nil, !row.flags.contains(.hasBranches) { return nil }
        let tree = try row.tree(connection.databaseName)
        guard let leaf = tree.storedLeaves.first(where: { $0.revision == revision }) else { return nil }
        let stored = try winner ?? leafBody(id, revision, connection)
        return RevisionForTransfer(
            id: id, revision: revision, isDeleted: leaf.isDeleted, body: stored.body, attachments: stored.attachments,
            history: tree.history(of: revision, including: ancestors))
    }
}
