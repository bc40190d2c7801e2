import KithDocuments

extension DatabaseFile {
    /// Brings a file of an older format to this one, in one transaction: it is of the one or of the other, whatever
    /// happens.
    ///
    /// - Parameter version: what `check` has found.
    /// - Throws: `.damaged`, `.diskFull`, `.homeNotWritable`, `.inputOutput`; the file is then as it was.
    static func migrate(_ connection: SQLiteConnection, from version: UInt32) throws(KithError) {
        guard version < StoreSchema.formatVersion else { return }
        try connection.execute("BEGIN IMMEDIATE")
        do {
            // A file that says of itself to be older than it is cannot be brought anywhere.
            try asDamage(connection.databaseName) { () throws(KithError) in
                // Another process may have been quicker.
                let version = try connection.number("PRAGMA user_version")
                guard version < StoreSchema.formatVersion else { return }
                if version == 1 { try migrateFrom1(connection) }
                // Format 2 had no policy for conflicts.
                if version == 2 {
                    try connection.execute("ALTER TABLE meta ADD COLUMN merge_policy INTEGER NOT NULL DEFAULT 0")
                }
                // Format 3 did not keep what was refused.
                if version <= 3 { try connection.execute(StoreSchema.refusalTable) }
                // Format 4 forgot what an interrupted blob was to become, and had another checksum of pieces.
                if version >= 2 { try migrateFrom4(connection) }
                try connection.execute("PRAGMA user_version = \(StoreSchema.formatVersion)")
            }
            try connection.execute("COMMIT")
        } catch {
            if connection.isInTransaction { try? connection.execute("ROLLBACK") }
            throw error
        }
    }

    private static func migrateFrom4(_ connection: SQLiteConnection) throws(KithError) {
        try connection.execute(
            """
            ALTER TABLE blob ADD COLUMN expected BLOB;
            ALTER TABLE blob ADD COLUMN expected_length INTEGER;
            CREATE INDEX blob_expected ON blob (expected) WHERE expected IS NOT NULL;
            """)
    }

    /// Format 1 had one collection, counters in `meta`, and neither blobs nor expiry. Rows are copied, since a column that
    /// is added to a table comes after the body, and whoever reads it would read past that.
    private static func migrateFrom1(_ connection: SQLiteConnection) throws(KithError) {
        try connection.execute("ALTER TABLE meta RENAME TO old_meta")
        try connection.execute(StoreSchema.tables)
        try connection.execute(StoreSchema.tables(ofCollection: StoreSchema.defaultCollection))
        try connection.execute(
            """
            INSERT INTO meta (
                    public_id, private_id, last_collection, dropped_sequence, revisions_limit, keeps_old_bodies)
                SELECT public_id, private_id, 1, 0, \(StoreLimits.revisionsLimitDefault), 0 FROM old_meta;
            INSERT INTO collection (number, name, last_sequence, live, deleted, conflicts)
                SELECT 1, '\(CollectionName.default)', last_sequence, live, deleted, conflicts FROM old_meta;
            INSERT INTO document_1 (sequence, id, revision, flags, tree, body)
                SELECT sequence, id, revision, flags, tree, body FROM document ORDER BY sequence;
            INSERT INTO leaf_1 (id, revision, body) SELECT id, revision, body FROM leaf;
            INSERT INTO local_1 (name, body) SELECT name, body FROM local;
            DROP TABLE old_meta;
            DROP TABLE document;
            DROP TABLE leaf;
            DROP TABLE local;
            """)
    }
}
