import KithDocuments

extension Snapshot {
    /// The tree of a document's revisions; nil when there is no such document.
    public final func revisionTree(_ id: DocumentID) throws -> RevisionTree? {
        let connection = try connection
        return try row(id, connection)?.tree(connection.databaseName)
    }

    /// Local documents by the bytes of their names.
    ///
    /// - Parameters:
    ///   - prefix: how their names begin.
    ///   - after: only names beyond this one.
    ///   - limit: how many at most.
    public final func localDocuments(
        prefix: String, after: String? = nil, limit: Int
    ) throws -> [(name: String, body: [UInt8])] {
        try connection.with(.localDocuments, in: number) { statement in
            statement.bind(copying: prefix, at: 1)
            statement.bind(copying: after ?? "", at: 2)
            statement.bind(limit, at: 3)
            var documents: [(name: String, body: [UInt8])] = []
            while try statement.step() {
                documents.append((String(decoding: statement.bytes(0), as: UTF8.self), statement.bytes(1)))
            }
            return documents
        }
    }
}
