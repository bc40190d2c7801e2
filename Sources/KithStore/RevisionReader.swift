import KithDocuments

/// Reads revisions that are to be sent to another node, with their bodies and histories.
///
/// Revisions of one document that follow each other cost one reading of its tree. It is valid as long as its snapshot.
public struct RevisionReader {
    private let snapshot: Snapshot
    /// The document of the last revision, where it has several.
    private var document: (id: DocumentID, row: DocumentRow, index: RevisionIndex)?

    /// Reads from a snapshot.
    public init(_ snapshot: Snapshot) { self.snapshot = snapshot }

    /// A leaf with its body and history.
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
    public mutating func read(
        _ id: DocumentID, _ revision: RevisionID, at sequence: UInt64? = nil, knowing ancestors: [RevisionID] = []
    ) throws -> RevisionForTransfer? {
        let connection = try snapshot.connection
        if let document, document.id == id, document.row.winner.revision != revision {
            return try leaf(revision, winner: nil, knowing: ancestors, connection)
        }
        var found: Found?
        if let sequence { found = try find(.documentWithBodyAt, id, revision, at: sequence, connection) }
        if found == nil { found = try find(.documentWithBody, id, revision, at: nil, connection) }
        guard let (row, winner) = found else { return nil }
        if row.isSingle {
            return winner.map {
                RevisionForTransfer(
                    id: id, revision: revision, isDeleted: row.winner.isDeleted, body: $0.body,
                    attachments: $0.attachments, history: [])
            }
        }
        if winner == nil, !row.flags.contains(.hasBranches) { return nil }
        if document?.id != id { document = (id, row, RevisionIndex(try row.tree(connection.databaseName))) }
        return try leaf(revision, winner: winner, knowing: ancestors, connection)
    }

    private typealias Stored = (body: [UInt8], attachments: AttachmentList)
    /// A document's row, with the winner's body where that is asked for.
    private typealias Found = (row: DocumentRow, winner: Stored?)

    private func find(
        _ query: StoreQuery, _ id: DocumentID, _ revision: RevisionID, at sequence: UInt64?,
        _ connection: SQLiteConnection
    ) throws -> Found? {
        try connection.with(query, in: snapshot.number) { statement in
            statement.bind(id, at: 1)
            if let sequence { statement.bind(sequence, at: 2) }
            guard try statement.step() else { return nil }
            let row = try DocumentRow(statement, first: 0)
            return (row, row.winner.revision == revision ? (statement.bytes(4), try statement.attachments(5)) : nil)
        }
    }

    /// A leaf of the document at hand.
    private mutating func leaf(
        _ revision: RevisionID, winner: Stored?, knowing ancestors: [RevisionID], _ connection: SQLiteConnection
    ) throws -> RevisionForTransfer? {
        guard let id = document?.id, let entry = document?.index.tree[revision], entry.isLeaf else { return nil }
        let stored = try winner ?? snapshot.leafBody(id, revision, connection)
        return RevisionForTransfer(
            id: id, revision: revision, isDeleted: entry.isDeleted, body: stored.body, attachments: stored.attachments,
            history: document?.index.history(of: revision, including: ancestors) ?? [])
    }
}
