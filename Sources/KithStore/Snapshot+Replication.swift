import KithDocuments

extension Snapshot {
    /// A document's winner; nil when there is no such document.
    public final func winner(of id: DocumentID) throws -> Leaf? { try row(id, connection)?.winner }

    /// Says of each revision whether it is stored, in the order of the question. Revisions of one document that follow each other
    /// cost no more than one and what is answered.
    public final func lookup(_ revisions: [(DocumentID, RevisionID)]) throws -> [RevisionLookup] {
        let connection = try connection
        var answers: [RevisionLookup] = []
        answers.reserveCapacity(revisions.count)
        var document: RevisionLookup.Document?
        for (id, revision) in revisions {
            if document?.id != id {
                document = RevisionLookup.Document(id: id, row: try row(id, connection), connection.databaseName)
            }
            answers.append(try document?.lookup(revision) ?? .missing(ancestors: []))
        }
        return answers
    }

    /// A leaf with its body and history, to be sent to another node: see `RevisionReader`, which reads many.
    public final func revisionForTransfer(
        _ id: DocumentID, _ revision: RevisionID, at sequence: UInt64? = nil, knowing ancestors: [RevisionID] = []
    ) throws -> RevisionForTransfer? {
        var reader = RevisionReader(self)
        return try reader.read(id, revision, at: sequence, knowing: ancestors)
    }
}

extension RevisionLookup {
    /// A document of which revisions are looked up.
    fileprivate struct Document {
        let id: DocumentID
        private let row: DocumentRow?
        private let databaseName: String
        private var index: RevisionIndex?

        init(id: DocumentID, row: DocumentRow?, _ databaseName: String) {
            self.id = id
            self.row = row
            self.databaseName = databaseName
        }

        mutating func lookup(_ revision: RevisionID) throws -> RevisionLookup {
            guard let row else { return .missing(ancestors: []) }
            if row.winner.revision == revision, !row.flags.contains(.hasBranches) { return .known }
            if row.isSingle {
                return .missing(
                    ancestors: row.winner.revision.generation < revision.generation ? [row.winner.revision] : [])
            }
            if index == nil { index = RevisionIndex(try row.tree(databaseName)) }
            return index?.lookup(revision) ?? .missing(ancestors: [])
        }
    }
}

extension RevisionIndex {
    fileprivate mutating func lookup(_ revision: RevisionID) -> RevisionLookup {
        if tree.isLeaf(revision) { return .branch(leaves: leaves) }
        if let leaf = leaf(superseding: revision) { return .superseded(leaf: leaf) }
        return .missing(ancestors: possibleAncestors(of: revision, limit: StoreLimits.ancestorsMax))
    }
}
