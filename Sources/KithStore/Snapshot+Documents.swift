import KithDocuments

extension Snapshot {
    /// A document with its body: the winner, also when that is a tombstone, or the revision that is named.
    ///
    /// - Parameters:
    ///   - id: the document.
    ///   - revision: one of its leaves, or an older one whose body is still kept (`DatabaseSettings.keepsOldBodies`); nil
    ///     for the winner.
    /// - Returns: nil when there is no such document, or no body of that revision.
    public final func document(_ id: DocumentID, revision: RevisionID? = nil) throws -> StoredDocument? {
        let connection = try connection
        let found: (row: DocumentRow, body: [UInt8], attachments: AttachmentList)? = try connection.with(
            .documentWithBody, in: number
        ) {
            statement in
            statement.bind(id, at: 1)
            guard try statement.step() else { return nil }
            return (try DocumentRow(statement, first: 0), statement.bytes(4), try statement.attachments(5))
        }
        guard let (row, body, attachments) = found else { return nil }
        let leaves = try row.leaves(connection.databaseName)
        guard let revision, revision != row.winner.revision else {
            return StoredDocument(
                id: id, revision: row.winner.revision, isDeleted: row.winner.isDeleted, body: body,
                attachments: attachments, sequence: row.sequence, leaves: leaves)
        }
        var isDeleted = leaves.first { $0.revision == revision }?.isDeleted
        if isDeleted == nil, row.flags.contains(.hasOldBodies) {
            let entry = try row.tree(connection.databaseName)[revision]
            if let entry, entry.hasBody { isDeleted = entry.isDeleted }
        }
        guard let isDeleted else { return nil }
        let stored = try leafBody(id, revision, connection)
        return StoredDocument(
            id: id, revision: revision, isDeleted: isDeleted, body: stored.body, attachments: stored.attachments,
            sequence: row.sequence, leaves: leaves)
    }

    /// The ancestors of a revision, the newest first, without itself.
    ///
    /// - Returns: nil when the document's tree does not have the revision.
    public final func history(_ id: DocumentID, _ revision: RevisionID) throws -> [RevisionID]? {
        let connection = try connection
        guard let row = try row(id, connection) else { return nil }
        if row.isSingle { return row.winner.revision == revision ? [] : nil }
        let tree = try row.tree(connection.databaseName)
        return tree.contains(revision) ? tree.history(of: revision) : nil
    }

    /// Documents by the bytes of their IDs, each with its winner.
    ///
    /// - Parameters:
    ///   - range: which ones; without it all that are not deleted.
    ///   - limit: how many at most.
    ///   - bodies: whether their bodies are read too.
    public final func allDocuments(
        in range: DocumentRange = DocumentRange(), limit: Int, bodies: Bool
    ) throws -> [StoredDocument] {
        guard limit > 0 else { return [] }
        let connection = try connection
        return try connection.with(range.isDescending ? .allDescending : .allAscending, in: number) { statement in
            statement.bind(copying: range.lowest ?? "", at: 1)
            if let highest = range.highest {
                statement.bind(copying: highest, at: 2)
            } else {
                // In SQLite's order every BLOB comes after every text.
                statement.bind(unownedBlob: UnsafeBufferPointer(start: nil, count: 0), at: 2)
            }
            // The bounds themselves are at most two rows that are not wanted.
            statement.bind(limit > Int.max - 2 ? limit : limit + 2, at: 3)
            statement.bind(range.includesDeleted ? 1 : 0, at: 4)
            statement.bind(bodies ? 1 : 0, at: 5)
            var documents: [StoredDocument] = []
            while documents.count < limit, try statement.step() {
                let id = statement.documentID(1)
                if !range.includesLowest, let lowest = range.lowest, lowest.utf8.elementsEqual(id.text.utf8) {
                    continue
                }
                if !range.includesHighest, let highest = range.highest, highest.utf8.elementsEqual(id.text.utf8) {
                    continue
                }
                let row = try DocumentRow(sequence: statement.uint(0), statement, revisionColumn: 2)
                documents.append(
                    StoredDocument(
                        id: id, revision: row.winner.revision, isDeleted: row.winner.isDeleted,
                        body: bodies ? statement.bytes(5) : [], attachments: try statement.attachments(6),
                        sequence: row.sequence,
                        leaves: try row.leaves(connection.databaseName)))
            }
            return documents
        }
    }

    /// Documents by the bytes of their IDs that come after `after` and are not deleted, each with its winner.
    public final func allDocuments(after: DocumentID?, limit: Int, bodies: Bool = false) throws -> [StoredDocument] {
        try allDocuments(
            in: DocumentRange(lowest: after?.text, includesLowest: false), limit: limit, bodies: bodies)
    }

    /// How many local documents have names that begin so, up to a limit.
    public final func localDocumentCount(prefix: String, limit: Int) throws -> Int {
        try connection.with(.localDocumentCount, in: number) { statement in
            statement.bind(copying: prefix, at: 1)
            statement.bind(limit, at: 2)
            return try statement.step() ? statement.int(0) : 0
        }
    }

    /// A local document: it stays on this node, has no revisions and takes no sequence.
    public final func localDocument(_ name: String) throws -> [UInt8]? {
        try connection.with(.localDocument, in: number) { statement in
            statement.bind(copying: name, at: 1)
            return try statement.step() ? statement.bytes(0) : nil
        }
    }
}
