/// The tables of a database file, and how a file is recognised. DESIGN.md of this folder says why they are so.
enum StoreSchema {
    /// In the header of each file: "Kith".
    static let applicationID: UInt32 = 0x4B69_7468
    /// In the header of each file as SQLite's `user_version`: raised when an older program could no longer use the file.
    /// `DatabaseFile.migrate` brings older files to it.
    static let formatVersion: UInt32 = 5
    /// The number of the collection `_default`, which every database has.
    static let defaultCollection = 1

    /// What a database has once.
    static let tables = """
        CREATE TABLE meta (
            public_id TEXT NOT NULL,
            private_id TEXT NOT NULL,
            last_collection INTEGER NOT NULL,
            dropped_sequence INTEGER NOT NULL,
            revisions_limit INTEGER NOT NULL,
            keeps_old_bodies INTEGER NOT NULL,
            merge_policy INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        CREATE TABLE collection (
            number INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            last_sequence INTEGER NOT NULL,
            live INTEGER NOT NULL,
            deleted INTEGER NOT NULL,
            conflicts INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE blob (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            digest BLOB UNIQUE,
            length INTEGER NOT NULL,
            uses INTEGER NOT NULL,
            leased_until INTEGER NOT NULL,
            expected BLOB,
            expected_length INTEGER
        ) STRICT;
        CREATE INDEX blob_unused ON blob (leased_until) WHERE uses = 0;
        CREATE INDEX blob_expected ON blob (expected) WHERE expected IS NOT NULL;
        CREATE TABLE blob_piece (
            place INTEGER PRIMARY KEY,
            checksum INTEGER NOT NULL,
            bytes BLOB NOT NULL
        ) STRICT;
        CREATE TABLE blob_use (
            collection INTEGER NOT NULL,
            id TEXT NOT NULL,
            revision TEXT NOT NULL,
            blob INTEGER NOT NULL,
            PRIMARY KEY (collection, id, revision, blob)
        ) STRICT, WITHOUT ROWID;
        """

    /// What replication could not hand over; rising with time, so that the oldest can be dropped.
    static let refusalTable = """
        CREATE TABLE refusal (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            peer TEXT NOT NULL,
            collection TEXT NOT NULL,
            id TEXT NOT NULL,
            is_outgoing INTEGER NOT NULL,
            revision TEXT NOT NULL,
            is_by_peer INTEGER NOT NULL,
            code INTEGER NOT NULL,
            reason TEXT NOT NULL,
            refused_at INTEGER NOT NULL,
            attempts INTEGER NOT NULL,
            UNIQUE (peer, collection, id, is_outgoing)
        ) STRICT;
        """

    /// What a database has for each collection.
    static func tables(ofCollection number: Int) -> String {
        """
        CREATE TABLE document_\(number) (
            sequence INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            revision TEXT NOT NULL,
            flags INTEGER NOT NULL,
            tree BLOB,
            expires INTEGER,
            attachments TEXT,
            body TEXT NOT NULL
        ) STRICT;
        CREATE INDEX conflict_\(number) ON document_\(number) (id) WHERE flags & 4;
        CREATE INDEX expiry_\(number) ON document_\(number) (expires) WHERE expires IS NOT NULL;
        CREATE TABLE leaf_\(number) (
            id TEXT NOT NULL,
            revision TEXT NOT NULL,
            attachments TEXT,
            body TEXT NOT NULL,
            PRIMARY KEY (id, revision)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE local_\(number) (
            name TEXT PRIMARY KEY NOT NULL,
            body BLOB NOT NULL
        ) STRICT, WITHOUT ROWID;
        """
    }

    /// Takes away what `tables(ofCollection:)` made.
    static func dropTables(ofCollection number: Int) -> String {
        "DROP TABLE document_\(number); DROP TABLE leaf_\(number); DROP TABLE local_\(number);"
    }
}
