/// The tables of a database file, and how a file is recognised. DESIGN.md of this folder says why they are so.
enum StoreSchema {
    /// In the header of each file: "Kith".
    static let applicationID: UInt32 = 0x4B69_7468
    /// In the header of each file as SQLite's `user_version`: raised when an older program could no longer use the file.
    static let formatVersion: UInt32 = 1

    static let tables = """
        CREATE TABLE document (
            sequence INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            revision TEXT NOT NULL,
            flags INTEGER NOT NULL,
            tree BLOB,
            body TEXT NOT NULL
        ) STRICT;
        CREATE INDEX document_in_conflict ON document (id) WHERE flags & 4;
        CREATE TABLE leaf (
            id TEXT NOT NULL,
            revision TEXT NOT NULL,
            body TEXT NOT NULL,
            PRIMARY KEY (id, revision)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE local (
            name TEXT PRIMARY KEY NOT NULL,
            body BLOB NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE meta (
            public_id TEXT NOT NULL,
            private_id TEXT NOT NULL,
            last_sequence INTEGER NOT NULL,
            live INTEGER NOT NULL,
            deleted INTEGER NOT NULL,
            conflicts INTEGER NOT NULL
        ) STRICT;
        """
}

/// What the column `flags` of a document says, so that its tree need not be read for it.
struct DocumentFlags: OptionSet {
    let rawValue: Int
    /// The winner is a tombstone.
    static let isDeleted = DocumentFlags(rawValue: 1)
    /// There is more than one leaf.
    static let hasBranches = DocumentFlags(rawValue: 2)
    /// There is more than one live leaf: the partial index `document_in_conflict` lists it.
    static let isInConflict = DocumentFlags(rawValue: 4)
}
