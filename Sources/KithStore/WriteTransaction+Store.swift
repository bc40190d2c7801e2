import KithDocuments

extension WriteTransaction {
    /// Writes a document's row and the bodies of its losing leaves, from what was there and what shall be there.
    ///
    /// - Parameters:
    ///   - id: the document.
    ///   - row: what is stored; nil for a new document.
    ///   - tree: the new tree; nil when `new` is the only revision.
    ///   - new: the revision that was added, and its body; nil when only ancestors were added.
    /// - Returns: the document's new sequence.
    func store(
        _ id: DocumentID, over row: DocumentRow?, tree: RevisionTree?, new: (leaf: Leaf, body: [UInt8])?
    ) throws -> UInt64 {
        try storing { connection in
            guard var tree else {
                guard let new else {
                    throw KithError(.internal, "A document without revisions was to be stored")
                }
                return try insertRow(id, new.leaf, DocumentFlags([new.leaf]), encodedTree: nil, new.body, connection)
            }
            let leaves = tree.storedLeaves
            guard let winner = leaves.first else {
                throw KithError(.internal, "A document without leaves was to be stored")
            }
            let flags = DocumentFlags(leaves)
            let encodedTree = try encode(&tree)
            guard let row else {
                guard let new, new.leaf.revision == winner.revision else {
                    throw KithError(.internal, "A new document's only revision is not its winner")
                }
                return try insertRow(id, winner, flags, encodedTree: encodedTree, new.body, connection)
            }
            let oldLeaves = try row.leaves(connection.databaseName)
            for leaf in oldLeaves.dropFirst() where !leaves.contains(leaf) {
                try deleteLeafBody(id, leaf.revision, connection)
            }
            var winnerBody: [UInt8]?
            if winner.revision != row.winner.revision {
                if leaves.contains(row.winner) { try keepWinnerAsLeaf(row.sequence, connection) }
                if let new, new.leaf.revision == winner.revision {
                    winnerBody = new.body
                } else {
                    winnerBody = try leafBody(id, winner.revision, connection)
                    try deleteLeafBody(id, winner.revision, connection)
                }
            }
            if let new, new.leaf.revision != winner.revision {
                try insertLeafBody(id, new.leaf.revision, new.body, connection)
            }
            return try updateRow(row, winner, flags, encodedTree: encodedTree, body: winnerBody, connection)
        }
    }

    /// Writes a document's tree in which only ancestors have changed, so that it keeps its sequence.
    func storeTree(_ tree: RevisionTree, of row: DocumentRow) throws {
        try storing { connection in
            var tree = tree
            try connection.with(.updateTree, in: number) { statement in
                statement.bind(row.sequence, at: 1)
                statement.bind(copyingBlob: try encode(&tree), at: 2)
                try statement.run()
            }
        }
    }

    private func encode(_ tree: inout RevisionTree) throws -> [UInt8] {
        let limit = try settings().revisionsLimit
        // The body of an ancestor has just been dropped, or never came.
        tree.dropBodiesOfAncestors()
        if tree.count > limit { tree.prune(toDepth: limit) }
        return tree.encoded()
    }

    private func insertRow(
        _ id: DocumentID, _ winner: Leaf, _ flags: DocumentFlags, encodedTree: [UInt8]?, _ body: [UInt8],
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
            try body.withUnsafeBufferPointer { body in
                statement.bind(unownedText: body, at: 6)
                try statement.run()
            }
        }
        count(from: nil, to: flags)
        return sequence
    }

    private func updateRow(
        _ row: DocumentRow, _ winner: Leaf, _ flags: DocumentFlags, encodedTree: [UInt8], body: [UInt8]?,
        _ connection: SQLiteConnection
    ) throws -> UInt64 {
        let sequence = takeSequence()
        try connection.with(.updateDocument, in: number) { statement in
            statement.bind(sequence, at: 1)
            statement.bind(row.sequence, at: 2)
            statement.bind(winner.revision, at: 3)
            statement.bind(flags.rawValue, at: 4)
            try encodedTree.withUnsafeBufferPointer { encodedTree in
                statement.bind(unownedBlob: encodedTree, at: 5)
                guard let body else { return try statement.run() }
                try body.withUnsafeBufferPointer { body in
                    statement.bind(unownedText: body, at: 6)
                    try statement.run()
                }
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

    private func insertLeafBody(
        _ id: DocumentID, _ revision: RevisionID, _ body: [UInt8], _ connection: SQLiteConnection
    ) throws {
        try connection.with(.insertLeafBody, in: number) { statement in
            statement.bind(id, at: 1)
            statement.bind(revision, at: 2)
            try body.withUnsafeBufferPointer { body in
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
