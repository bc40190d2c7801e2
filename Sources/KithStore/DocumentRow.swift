import KithDocuments

/// A document's row without its body.
struct DocumentRow {
    /// The sequence of its last change, and so the place of the row.
    let sequence: UInt64
    /// The winner.
    let winner: Leaf
    /// What is known without the tree.
    let flags: DocumentFlags
    /// The tree as it is stored; nil where it has only one revision, the winner.
    let encodedTree: [UInt8]?

    /// Reads the columns sequence, revision, flags, tree, the first of which is `first`.
    @inline(__always)
    init(_ statement: SQLiteStatement, first: Int32) throws {
        try self.init(sequence: statement.uint(first), statement, revisionColumn: first + 1)
    }

    /// Reads the columns revision, flags, tree, which follow each other.
    @inline(__always)
    init(sequence: UInt64, _ statement: SQLiteStatement, revisionColumn column: Int32) throws {
        self.sequence = sequence
        flags = DocumentFlags(rawValue: statement.int(column + 1))
        winner = Leaf(revision: try statement.revision(column), isDeleted: flags.contains(.isDeleted))
        encodedTree = statement.isNull(column + 2) ? nil : statement.bytes(column + 2)
    }

    /// Whether the document has only ever had one revision.
    var isSingle: Bool { encodedTree == nil }

    /// The revision tree.
    func tree(_ databaseName: String) throws(KithError) -> RevisionTree {
        var tree: RevisionTree
        do {
            if let encodedTree {
                tree = try RevisionTree(decoding: encodedTree)
            } else {
                tree = RevisionTree()
                try tree.insert(winner.revision, isDeleted: winner.isDeleted)
            }
        } catch {
            throw Self.damaged(databaseName, cause: error)
        }
        guard tree.winner?.revision == winner.revision else { throw Self.damaged(databaseName, cause: nil) }
        return tree
    }

    /// All leaves, the winner first; the tree is only read where there are several.
    func leaves(_ databaseName: String) throws(KithError) -> [Leaf] {
        flags.contains(.hasBranches) ? try tree(databaseName).storedLeaves : [winner]
    }

    static func damaged(_ databaseName: String, cause: (any Error)?) -> KithError {
        KithError(
            .damaged, "A document of database \(databaseName) cannot be read: its row is damaged",
            remedy: "Keep the file, and restore the database from a peer or a backup", cause: cause)
    }
}

extension RevisionTree {
    /// The leaves as the store tells them, the winner first.
    var storedLeaves: [Leaf] {
        leaves.map { Leaf(revision: $0.revision, isDeleted: $0.isDeleted) }
    }
}

extension SQLiteStatement {
    /// Binds a document ID by a copy.
    @inline(__always)
    func bind(_ id: DocumentID, at position: Int32) {
        bind(copying: id.text, at: position)
    }

    /// Binds a revision ID by a copy.
    @inline(__always)
    func bind(_ revision: RevisionID, at position: Int32) {
        bind(copyingText: revision.bytes, at: position)
    }

    /// The document ID in a column: only legal ones were ever stored.
    @inline(__always)
    func documentID(_ column: Int32) -> DocumentID {
        DocumentID.unchecked(text(column))
    }

    /// The attachments in a column, which is NULL where there are none.
    @inline(__always)
    func attachments(_ column: Int32) throws(KithError) -> AttachmentList {
        if isNull(column) { return AttachmentList() }
        do {
            return try AttachmentList(canonical: bytes(column))
        } catch {
            throw DocumentRow.damaged(connection.databaseName, cause: error)
        }
    }

    /// The revision ID in a column.
    @inline(__always)
    func revision(_ column: Int32) throws(KithError) -> RevisionID {
        do {
            return try RevisionID(parsing: unownedBytes(column))
        } catch {
            throw DocumentRow.damaged(connection.databaseName, cause: error)
        }
    }
}
