import KithDocuments

extension WriteTransaction {
    /// Writes a new revision of a document, as a child of the revision that the writer has seen.
    ///
    /// The revision ID follows from parent, deletion and body alone. Without `parent`, a new document begins at
    /// generation 1, and a deleted one comes back as a child of its tombstone. If the very same edit has come from
    /// another node already, nothing is added; `parent` ceases to be a leaf if it still was one.
    ///
    /// - Parameters:
    ///   - id: the document.
    ///   - body: the text of a JSON object without reserved names, in any form; stored in canonical form.
    ///   - parent: the leaf that it follows; nil if there is no document, or only a deleted one.
    ///   - isDeleted: whether it is a tombstone.
    ///   - attachments: all of the revision's attachments, whose bytes are stored already.
    /// - Returns: the new revision, and the document's new sequence.
    /// - Throws: `.conflict` when `parent` is no leaf, or is missing although the document is there; `.badDocument` and
    ///   `.tooLarge` for the body; `.attachmentMissing` when bytes are not stored. Nothing is written then, and the
    ///   transaction goes on.
    @discardableResult
    public func put(
        _ id: DocumentID, body: [UInt8], parent: RevisionID?, isDeleted: Bool = false,
        attachments: AttachmentList = AttachmentList()
    ) throws -> (revision: RevisionID, sequence: UInt64) {
        let connection = try connection
        let row = try row(id, connection)
        let actualParent: RevisionID?
        if let parent {
            guard let row, try row.leaves(connection.databaseName).contains(where: { $0.revision == parent }) else {
                throw Self.conflict(id, row, connection)
            }
            actualParent = parent
        } else {
            if let row, !row.winner.isDeleted { throw Self.conflict(id, row, connection) }
            actualParent = row?.winner.revision
        }
        let (revision, canonicalBody) = try newRevision(
            id, body: body, parent: actualParent, isDeleted: isDeleted, attachments: attachments)
        let new = NewRevision(
            leaf: Leaf(revision: revision, isDeleted: isDeleted), body: canonicalBody, attachments: attachments)
        guard let row, let actualParent else {
            return (revision, try store(id, over: nil, tree: nil, new: new))
        }
        var tree = try row.tree(connection.databaseName)
        // The same edit may have come from elsewhere without its history, so that the parent still looks like a leaf:
        // then this one says whose child it is, and only the leaves change.
        let isKnown = tree.contains(revision)
        try tree.insert(revision, history: [actualParent], isDeleted: isDeleted)
        return (revision, try store(id, over: row, tree: tree, new: isKnown ? nil : new))
    }

    /// Deletes a document: writes a tombstone with the body `{}` as a child of `parent`.
    ///
    /// Other live leaves stay; one of them becomes the winner.
    /// - Throws: `.notFound` when there is no document or `parent` is a tombstone already; `.conflict` when `parent` is
    ///   no leaf.
    @discardableResult
    public func delete(_ id: DocumentID, parent: RevisionID) throws -> (revision: RevisionID, sequence: UInt64) {
        let connection = try connection
        guard let row = try row(id, connection) else {
            throw KithError(.notFound, "There is no document \(id.text)")
        }
        if try row.leaves(connection.databaseName).contains(Leaf(revision: parent, isDeleted: true)) {
            throw KithError(.notFound, "Revision \(parent) of document \(id.text) is deleted already")
        }
        return try put(id, body: Array("{}".utf8), parent: parent, isDeleted: true)
    }

    /// Stores a revision made elsewhere, with its history.
    ///
    /// It never conflicts, unless that is what was asked for (`refusesConflict`): a revision that does not follow the winner becomes another leaf, and the winner is chosen
    /// from all leaves, whatever the order in which they came. Ancestors are stored without bodies. A revision that is
    /// there already makes no new sequence, unless its history shows that another leaf is its ancestor; its body is not
    /// looked at, so where two bodies have one revision ID the first is kept.
    ///
    /// - Throws: `.badDocument` and `.tooLarge` for the body and for a history whose generations do not fall; `.badDocument`
    ///   for a merge mark, which stands in histories only;
    ///   `.attachmentMissing` when bytes of an attachment are not stored; `.conflict` where conflicts are to be refused; the message names the document, nothing is written then, and the transaction goes on.
    @discardableResult
    public func insert(_ incoming: IncomingRevision) throws -> InsertOutcome { try insertion(of: incoming).outcome }

    /// Does what `insert` does, and says besides what sequence the document had before; 0 when it was not there.
    public func insertion(
        of incoming: IncomingRevision
    ) throws -> (outcome: InsertOutcome, previousSequence: UInt64) {
        let row = try row(incoming.id, connection)
        return (try insert(incoming, over: row), row?.sequence ?? 0)
    }

    private func insert(_ incoming: IncomingRevision, over row: DocumentRow?) throws -> InsertOutcome {
        // Histories would not lead to it.
        guard !incoming.revision.isFiller else {
            throw KithError(
                .badDocument, "\(incoming.revision) stands in histories for unknown revisions and is none itself"
            ).about(incoming.id)
        }
        // Never a base of merges, so each edit on top of it would be merged from before it.
        guard !incoming.revision.isMergeMark else {
            throw KithError(
                .badDocument,
                "Document \(incoming.id.text): revision \(incoming.revision) is a merge mark, which stands for no body",
                remedy: "Write the document as a child of a revision, and leave its ID to the node")
        }
        let leaf = Leaf(revision: incoming.revision, isDeleted: incoming.isDeleted)
        func new(_ body: [UInt8]) -> NewRevision {
            NewRevision(leaf: leaf, body: body, attachments: incoming.attachments)
        }
        if row == nil, incoming.history.isEmpty {
            let body = try canonicalize(incoming.body, incoming.id)
            _ = try numbersOfBlobs(of: incoming.attachments, incoming.id)
            return .inserted(
                sequence: try store(incoming.id, over: nil, tree: nil, new: new(body)))
        }
        var tree = try row?.tree(connection.databaseName) ?? RevisionTree()
        if incoming.refusesConflict { try incoming.refuseConflict(with: tree) }
        let insertion: RevisionTree.Insertion
        do {
            insertion = try tree.insert(
                incoming.revision, history: incoming.history, isDeleted: incoming.isDeleted)
        } catch {
            throw error.about(incoming.id)
        }
        switch insertion {
        case .alreadyPresent:
            return .alreadyPresent
        case .historyExtended(leavesChanged: false):
            // Nothing that anybody is told of has changed.
            if let row { try storeTree(tree, of: row, incoming.id) }
            return .alreadyPresent
        case .historyExtended(leavesChanged: true):
            return .inserted(sequence: try store(incoming.id, over: row, tree: tree, new: nil))
        case .inserted:
            let body = try canonicalize(incoming.body, incoming.id)
            _ = try numbersOfBlobs(of: incoming.attachments, incoming.id)
            return .inserted(
                sequence: try store(incoming.id, over: row, tree: tree, new: new(body)))
        }
    }

    /// Takes another node's word that a leaf here is an ancestor of a revision that is here as well, because the two came
    /// without the history that says so. Where either is not here, or the one is no leaf, nothing changes.
    ///
    /// - Returns: whether the document has changed, and has a new sequence.
    @discardableResult
    public func supersede(_ supersession: Supersession) throws -> Bool {
        let connection = try connection
        guard supersession.revision.generation < supersession.leaf.generation,
            let row = try row(supersession.id, connection), row.flags.contains(.hasBranches)
        else { return false }
        var tree = try row.tree(connection.databaseName)
        guard tree.isLeaf(supersession.revision), tree.contains(supersession.leaf),
            case .historyExtended(leavesChanged: true) = try tree.insert(
                supersession.leaf, history: [supersession.revision])
        else { return false }
        _ = try store(supersession.id, over: row, tree: tree, new: nil)
        return true
    }

    /// Keeps a local document, or removes it: it stays on this node, has no revisions and takes no sequence.
    ///
    /// - Parameters:
    ///   - name: its name, of any kind.
    ///   - body: any bytes; nil removes it.
    public func setLocalDocument(_ name: String, _ body: [UInt8]?) throws {
        try storing { connection in
            guard let body else {
                return try connection.with(.deleteLocalDocument, in: number) { statement in
                    statement.bind(copying: name, at: 1)
                    try statement.run()
                }
            }
            try connection.with(.setLocalDocument, in: number) { statement in
                statement.bind(copying: name, at: 1)
                try body.withUnsafeBufferPointer { body in
                    statement.bind(unownedBlob: body, at: 2)
                    try statement.run()
                }
            }
        }
    }

    /// The ID of a new revision, and its body in canonical form.
    func newRevision(
        _ id: DocumentID, body: [UInt8], parent: RevisionID?, isDeleted: Bool, attachments: AttachmentList
    ) throws -> (RevisionID, [UInt8]) {
        let canonicalBody = try canonicalize(body, id)
        // Before anything is written, so that only this document fails.
        _ = try numbersOfBlobs(of: attachments, id)
        let hash = try connection.hasher.hash(
            RevisionDigest.prefix(parent: parent, deleted: isDeleted), canonicalBody,
            RevisionDigest.suffix(attachments: attachments))
        // By way of text: the generic initialiser for hashes costs more than hashing, across modules.
        let revision = try RevisionID(
            generation: (parent?.generation ?? 0) + 1, digest: Hexadecimal.text(hash[..<20]))
        return (revision, canonicalBody)
    }

    /// A body in canonical form, or an error that names the document.
    func canonicalize(_ body: [UInt8], _ id: DocumentID) throws(KithError) -> [UInt8] {
        do {
            return try CanonicalJSON.canonicalizeBody(body)
        } catch {
            throw error.about(id)
        }
    }

    private static func conflict(
        _ id: DocumentID, _ row: DocumentRow?, _ connection: SQLiteConnection
    ) -> KithError {
        guard let row else {
            return KithError(
                .conflict, "There is no document \(id.text) in database \(connection.databaseName)",
                remedy: "Write it without a revision")
        }
        return KithError(
            .conflict,
            "Document \(id.text) of database \(connection.databaseName) has another current revision: "
                + "\(row.winner.revision)\(row.winner.isDeleted ? " (deleted)" : "")",
            remedy: "Read the document again and repeat the change on its current revision")
    }
}

extension KithError {
    /// The same error, with the document named.
    fileprivate func about(_ id: DocumentID) -> KithError {
        KithError(code, "Document \(id.text): \(message)", remedy: remedy, cause: cause)
    }
}
