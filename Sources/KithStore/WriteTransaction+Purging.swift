import KithDocuments

extension WriteTransaction {
    /// Forgets a document with its whole history, and tells nobody: a peer that still has it brings it back with its next
    /// change. Observers are called, with the last sequence as it was.
    ///
    /// - Returns: whether there was such a document, be it deleted.
    @discardableResult
    public func purge(_ id: DocumentID) throws -> Bool {
        let connection = try connection
        guard let row = try row(id, connection) else { return false }
        try purge(id, row)
        return true
    }

    /// Forgets leaves of a document, each with the ancestors that only it has; the document as a whole with the last one.
    ///
    /// - Returns: those of the revisions that were leaves and are gone; the others are left alone.
    public func purge(_ id: DocumentID, revisions: [RevisionID]) throws -> [RevisionID] {
        let connection = try connection
        guard let row = try row(id, connection) else { return [] }
        var tree = try row.tree(connection.databaseName)
        let purged = revisions.filter { tree.purge($0) }
        if tree.isEmpty {
            try purge(id, row)
        } else if !purged.isEmpty {
            _ = try store(id, over: row, tree: tree, new: nil, isPurge: true)
        }
        return purged
    }

    private func purge(_ id: DocumentID, _ row: DocumentRow) throws {
        try storing { connection in
            if row.flags.contains(.hasAttachments) { try releaseAllBlobs(id) }
            try connection.with(.deleteDocument, in: number) { statement in
                statement.bind(row.sequence, at: 1)
                try statement.run()
            }
            if row.flags.contains(.hasBranches) || row.flags.contains(.hasOldBodies) {
                try connection.with(.deleteLeafBodies, in: number) { statement in
                    statement.bind(id, at: 1)
                    try statement.run()
                }
            }
        }
        count(from: row.flags, to: nil)
    }
}
