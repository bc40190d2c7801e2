import KithDocuments

extension Snapshot {
    /// How many documents have bodies beside that of the winner.
    func countWithBodiesBeside() throws -> Int {
        try connection.number("SELECT count(DISTINCT id) FROM leaf_\(number)")
    }

    /// Documents that have bodies beside that of the winner, losing leaves or old ones, by their IDs.
    func withBodiesBeside(after: DocumentID?, limit: Int) throws -> [DocumentID] {
        let sql = "SELECT DISTINCT id FROM leaf_\(number) WHERE id > ?1 ORDER BY id LIMIT ?2"
        return try connection.query(sql) { statement in
            statement.bind(copying: after?.text ?? "", at: 1)
            statement.bind(limit, at: 2)
            var ids: [DocumentID] = []
            while try statement.step() { ids.append(statement.documentID(0)) }
            return ids
        }
    }

    /// How many attachments no revision has and nobody is about to use.
    func countUnusedBlobs(now: Int64) throws -> Int {
        try connection.number("SELECT count(*) FROM blob WHERE uses = 0 AND leased_until <= \(now)")
    }
}

extension WriteTransaction {
    /// Drops the bodies of superseded revisions, as many as one step may; sequences and all that replicates stay.
    ///
    /// Where the database merges, a document in conflict keeps all, and every other one its newest
    /// (`StoreLimits.compactionKeptBodiesMax`), with their attachments.
    ///
    /// - Returns: how many of the documents were looked at, the first ones, at least one; how many bodies were dropped.
    func dropOldBodies(of ids: ArraySlice<DocumentID>) throws -> (documents: Int, bodies: Int) {
        try storing { connection in
            let isMerging = try settings().mergePolicy != .byHand
            let length = try PreparedQuery(
                "SELECT length(CAST(body AS BLOB)) FROM leaf_\(number) WHERE id = ?1 AND revision = ?2", on: connection)
            let blobs = try PreparedQuery(
                """
                SELECT number, length FROM blob_use JOIN blob ON number = blob
                WHERE collection = \(number) AND id = ?1 AND revision = ?2
                """, on: connection)
            var (documents, bodies, bytes) = (0, 0, 0)
            for id in ids where bytes < StoreLimits.compactionStepBytes {
                documents += 1
                guard let row = try row(id, connection), row.flags.contains(.hasOldBodies) else { continue }
                // What its versions parted from is needed to merge them.
                if isMerging, row.flags.contains(.isInConflict) { continue }
                var tree = try row.tree(connection.databaseName)
                func about(_ revision: RevisionID, _ statement: SQLiteStatement) {
                    statement.bind(id, at: 1)
                    statement.bind(revision, at: 2)
                }
                /// Attachments that stay in any case, and what of a revision's would stay beside them.
                var held = Set<Int>()
                func attachments(of revision: RevisionID) throws -> [(number: Int, length: Int)] {
                    guard isMerging, row.flags.contains(.hasAttachments) else { return [] }
                    return try blobs.use { statement in
                        about(revision, statement)
                        var found: [(number: Int, length: Int)] = []
                        while try statement.step() { found.append((statement.int(0), statement.int(1))) }
                        return found.filter { !held.contains($0.number) }
                    }
                }
                for leaf in tree.leaves { held.formUnion(try attachments(of: leaf.revision).map(\.number)) }
                var kept = (bodies: 0, bytes: 0)
                let before = bodies
                // The newest first.
                for entry in tree.entries.reversed() where entry.hasBody && !entry.isLeaf {
                    let size = try length.use { statement in
                        about(entry.revision, statement)
                        return try statement.step() ? statement.int(0) : 0
                    }
                    // Those that stay are read for it.
                    bytes += size
                    // What a version parted from that a peer has written meanwhile, and that is on its way, is needed too.
                    if isMerging, kept.bodies < StoreLimits.compactionKeptBodiesMax {
                        let beside = try attachments(of: entry.revision)
                        let added = beside.reduce(0) { $0 + $1.length }
                        // The newest body stays however large it is, and its attachments do not.
                        if (kept.bodies == 0 ? 0 : kept.bytes + size) + added <= StoreLimits.compactionKeptBytesMax {
                            kept = (kept.bodies + 1, kept.bytes + size + added)
                            held.formUnion(beside.map(\.number))
                            continue
                        }
                    }
                    try connection.with(.deleteLeafBody, in: number) { statement in
                        about(entry.revision, statement)
                        try statement.run()
                    }
                    if row.flags.contains(.hasAttachments) { try releaseBlobs(id, entry.revision) }
                    tree.setHasBody(false, of: entry.revision)
                    bodies += 1
                }
                if bodies > before { try setTreeWithFewerBodies(tree, id, row, connection) }
            }
            return (documents, bodies)
        }
    }

    private func setTreeWithFewerBodies(
        _ tree: RevisionTree, _ id: DocumentID, _ row: DocumentRow, _ connection: SQLiteConnection
    ) throws {
        let sql = """
            UPDATE document_\(number) SET tree = ?2, flags = (flags & ~?3) | CASE
                WHEN EXISTS (SELECT 1 FROM blob_use WHERE collection = \(number) AND id = ?4) THEN ?5 ELSE 0 END
            WHERE sequence = ?1
            """
        try connection.query(sql) { statement in
            statement.bind(row.sequence, at: 1)
            // The short form of a tree with one revision is NULL.
            if tree.count > 1 { statement.bind(copyingBlob: tree.encoded(), at: 2) }
            let cleared: DocumentFlags = tree.hasOldBodies ? .hasAttachments : [.hasOldBodies, .hasAttachments]
            statement.bind(cleared.rawValue, at: 3)
            statement.bind(id, at: 4)
            statement.bind(DocumentFlags.hasAttachments.rawValue, at: 5)
            try statement.run()
        }
    }
}
