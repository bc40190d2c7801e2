import KithDocuments

/// A revision to be stored, with what belongs to it.
struct NewRevision {
    let leaf: Leaf
    /// In canonical form.
    let body: [UInt8]
    let attachments: AttachmentList
}

extension WriteTransaction {
    /// Writes a document's row and the bodies beside it, from what was there and what shall be there.
    ///
    /// - Parameters:
    ///   - id: the document.
    ///   - row: what is stored; nil for a new document.
    ///   - tree: the new tree; nil when `new` is the only revision.
    ///   - new: the revision that was added; nil when only ancestors were added or leaves taken away.
    ///   - isPurge: whether leaves that are gone were purged, so that their bodies are not kept as old ones either.
    /// - Returns: the document's new sequence.
    func store(
        _ id: DocumentID, over row: DocumentRow?, tree: RevisionTree?, new: NewRevision?, isPurge: Bool = false
    ) throws -> UInt64 {
        try storing { connection in
            guard var tree else {
                guard let new else {
                    throw KithError(.internal, "A document without revisions was to be stored")
                }
                var flags = DocumentFlags([new.leaf])
                try useBlobs(of: new, id, &flags)
                return try insertRow(id, new.leaf, flags, encodedTree: nil, new, connection)
            }
            let leaves = tree.storedLeaves
            guard let winner = leaves.first else {
                throw KithError(.internal, "A document without leaves was to be stored")
            }
            var flags = DocumentFlags(leaves)
            guard let row else {
                guard let new, new.leaf.revision == winner.revision else {
                    throw KithError(.internal, "A new document's only revision is not its winner")
                }
                try useBlobs(of: new, id, &flags)
                try prune(&tree, id, hasOldBodies: false, connection)
                return try insertRow(id, winner, flags, encodedTree: Self.encode(tree), new, connection)
            }
            // Those of the new revision first: what both use is then never unused.
            if let new { try useBlobs(of: new, id, &flags) }
            let keepsOldBodies = try !isPurge && !settings().dropsOldBodies
            let gone = try row.leaves(connection.databaseName).filter { !leaves.contains($0) }
            if !keepsOldBodies {
                for leaf in gone {
                    tree.setHasBody(false, of: leaf.revision)
                    if leaf.revision != row.winner.revision { try deleteLeafBody(id, leaf.revision, connection) }
                    if row.flags.contains(.hasAttachments) { try releaseBlobs(id, leaf.revision) }
                }
            }
            var winnerChange: NewRevision?
            if winner.revision != row.winner.revision {
                if keepsOldBodies || leaves.contains(row.winner) { try keepWinnerAsLeaf(row.sequence, connection) }
                if let new, new.leaf.revision == winner.revision {
                    winnerChange = new
                } else {
                    let stored = try leafBody(id, winner.revision, connection)
                    winnerChange = NewRevision(leaf: winner, body: stored.body, attachments: stored.attachments)
                    try deleteLeafBody(id, winner.revision, connection)
                }
            }
            if let new, new.leaf.revision != winner.revision { try insertLeafBody(id, new, connection) }
            if tree.hasOldBodies { flags.insert(.hasOldBodies) }
            let hasOldBodies = flags.contains(.hasOldBodies) || row.flags.contains(.hasOldBodies)
            let dropped = try prune(&tree, id, hasOldBodies: hasOldBodies, isPurge: isPurge, connection)
            if row.flags.contains(.hasAttachments) {
                for revision in dropped { try releaseBlobs(id, revision) }
                if try usesBlobs(id) { flags.insert(.hasAttachments) }
            }
            if !tree.hasOldBodies { flags.remove(.hasOldBodies) }
            return try updateRow(row, winner, flags, encodedTree: Self.encode(tree), winnerChange, connection)
        }
    }

    /// Writes a document's tree in which only ancestors have changed, so that it keeps its sequence.
    func storeTree(_ tree: RevisionTree, of row: DocumentRow, _ id: DocumentID) throws {
        try storing { connection in
            var tree = tree
            let dropped = try prune(&tree, id, hasOldBodies: row.flags.contains(.hasOldBodies), connection)
            var flags = row.flags
            if flags.contains(.hasAttachments) {
                for revision in dropped { try releaseBlobs(id, revision) }
                if try !usesBlobs(id) { flags.remove(.hasAttachments) }
            }
            if !tree.hasOldBodies { flags.remove(.hasOldBodies) }
            try connection.with(.updateTree, in: number) { statement in
                statement.bind(row.sequence, at: 1)
                if let encoded = Self.encode(tree) { statement.bind(copyingBlob: encoded, at: 2) }
                statement.bind(flags.rawValue, at: 3)
                try statement.run()
            }
        }
    }

    /// Forgets ancestors beyond the limit, and the bodies of all that the tree does not have, or no longer has.
    ///
    /// - Returns: the revisions whose bodies were dropped.
    @discardableResult
    private func prune(
        _ tree: inout RevisionTree, _ id: DocumentID, hasOldBodies: Bool, isPurge: Bool = false,
        _ connection: SQLiteConnection
    ) throws -> [RevisionID] {
        let limit = try settings().revisionsLimit
        let isPruned = tree.count > limit && tree.prune(toDepth: limit) > 0
        guard isPruned || isPurge, hasOldBodies else { return [] }
        let kept = try connection.with(.leafRevisions, in: number) { statement in
            statement.bind(id, at: 1)
            var revisions: [RevisionID] = []
            while try statement.step() { revisions.append(try statement.revision(0)) }
            return revisions
        }
        let dropped = kept.filter { tree[$0] == nil }
        for revision in dropped { try deleteLeafBody(id, revision, connection) }
        return dropped
    }

    private func useBlobs(of new: NewRevision, _ id: DocumentID, _ flags: inout DocumentFlags) throws {
        guard !new.attachments.isEmpty else { return }
        try useBlobs(of: new.attachments, id, new.leaf.revision)
        flags.insert(.hasAttachments)
    }

    /// The tree as it is stored: nil where it says no more than the row does.
    private static func encode(_ tree: RevisionTree) -> [UInt8]? {
        tree.count == 1 && tree.prunedCount == 0 ? nil : tree.encoded()
    }

    private func insertRow(
        _ id: DocumentID, _ winner: Leaf, _ flags: DocumentFlags, encodedTree: [UInt8]?, _ new: NewRevision,
        _ connection: SQLiteConnection
    ) throws -> UInt64 {
        let sequence = takeSequence()
        try connection.with(.insertDocument, in: number) { statement in
            statement.bind(sequence, at: 1)
            statement.bind(id, at: 2)
            statement.bind(winner.revision, at: 3)
            statement.bind(flags.rawValue, at: 4)
            // No tree leaves the parameter NULL.
            if let encodedTree { statement.bind(copyingBlob: encodedTree, at: 5) }
            if !new.attachments.isEmpty { statement.bind(copyingText: new.attachments.canonicalBytes(), at: 7) }
            try new.body.withUnsafeBufferPointer { body in
                statement.bind(unownedText: body, at: 6)
                try statement.run()
            }
        }
        count(from: nil, to: flags)
        return sequence
    }

    private func updateRow(
        _ row: DocumentRow, _ winner: Leaf, _ flags: DocumentFlags, encodedTree: [UInt8]?, _ change: NewRevision?,
        _ connection: SQLiteConnection
    ) throws -> UInt64 {
        let sequence = takeSequence()
        try connection.with(.updateDocument, in: number) { statement in
            statement.bind(sequence, at: 1)
            statement.bind(row.sequence, at: 2)
            statement.bind(winner.revision, at: 3)
            statement.bind(flags.rawValue, at: 4)
            // No tree leaves the parameter NULL.
            if let encodedTree { statement.bind(copyingBlob: encodedTree, at: 5) }
            guard let change else { return try statement.run() }
            if !change.attachments.isEmpty { statement.bind(copyingText: change.attachments.canonicalBytes(), at: 7) }
            try change.body.withUnsafeBufferPointer { body in
                statement.bind(unownedText: body, at: 6)
                try statement.run()
            }
        }
        count(from: row.flags, to: flags)
        return sequence
    }

    private func keepWinnerAsLeaf(_ sequence: UInt64, _ connection: SQLiteConnection) throws {
        try connection.with(.keepWinnerAsLeaf, in: number) { statement in
            statement.bind(sequence, at: 1)
            try statement.run()
        }
    }

    private func insertLeafBody(_ id: DocumentID, _ new: NewRevision, _ connection: SQLiteConnection) throws {
        try connection.with(.insertLeafBody, in: number) { statement in
            statement.bind(id, at: 1)
            statement.bind(new.leaf.revision, at: 2)
            if !new.attachments.isEmpty { statement.bind(copyingText: new.attachments.canonicalBytes(), at: 4) }
            try new.body.withUnsafeBufferPointer { body in
                statement.bind(unownedText: body, at: 3)
                try statement.run()
            }
        }
    }

    private func deleteLeafBody(
        _ id: DocumentID, _ revision: RevisionID, _ connection: SQLiteConnection
    ) throws {
        try connection.with(.deleteLeafBody, in: number) { statement in
            statement.bind(id, at: 1)
            statement.bind(revision, at: 2)
            try statement.run()
        }
    }
}
