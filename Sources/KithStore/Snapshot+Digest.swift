import KithDocuments

extension Snapshot {
    /// A fingerprint of all documents, leaves and bodies; reads the whole database.
    ///
    /// SHA-256 over, for each document in the order of its ID's bytes: the ID, the number of leaves, and for each leaf,
    /// the winner first, the revision ID, one byte for deleted (0 or 1), the body and `_attachments` (empty where there are none). IDs, bodies and attachments are preceded by
    /// their length; lengths and numbers are four bytes, the highest first.
    public final func digest() throws -> DatabaseDigest {
        let connection = try connection
        // The connection's own hash may be in use by nothing else now: there is one operation at a time.
        let hasher = connection.hasher
        try hasher.begin()
        var (live, deleted, leafRevisions, conflicts) = (0, 0, 0, 0)
        try connection.with(.allForDigest, in: number) { statement in
            while try statement.step() {
                let row = try DocumentRow(sequence: 0, statement, revisionColumn: 1)
                let leaves = try row.leaves(connection.databaseName)
                let id = statement.unownedBytes(0)
                try hasher.addCounted(id)
                try hasher.add(UInt32(leaves.count))
                for (index, leaf) in leaves.enumerated() {
                    try leaf.revision.bytes.withUnsafeBytes { try hasher.addCounted($0) }
                    try hasher.add(byte: leaf.isDeleted ? 1 : 0)
                    if index == 0 {
                        try hasher.addCounted(statement.unownedBytes(4))
                        try hasher.addCounted(attachments: statement.attachments(5))
                    } else {
                        let stored = try leafBody(statement.documentID(0), leaf.revision, connection)
                        try stored.body.withUnsafeBytes { try hasher.addCounted($0) }
                        try hasher.addCounted(attachments: stored.attachments)
                    }
                }
                if row.winner.isDeleted { deleted += 1 } else { live += 1 }
                leafRevisions += leaves.count
                if leaves.count(where: { !$0.isDeleted }) > 1 { conflicts += 1 }
            }
        }
        return DatabaseDigest(
            hex: Hexadecimal.text(try hasher.end()), documents: live, deleted: deleted, leafRevisions: leafRevisions,
            conflicts: conflicts)
    }
}

extension MessageDigest {
    /// Adds bytes with their number before them, so that no two lists of texts look alike.
    fileprivate func addCounted(_ bytes: UnsafeRawBufferPointer) throws(KithError) {
        try add(UInt32(bytes.count))
        try add(bytes)
    }

    /// Adds of attachments what makes a revision, which is the same on every node.
    fileprivate func addCounted(attachments: AttachmentList) throws {
        try RevisionDigest.suffix(attachments: attachments).withUnsafeBytes { try addCounted($0) }
    }

    fileprivate func add(byte: UInt8) throws {
        let bytes = [byte]
        try bytes.withUnsafeBytes { try add($0) }
    }
}
