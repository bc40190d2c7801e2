import CSQLite
import KithDocuments
import KithStore
import Testing

@Suite("Store: files of older formats")
struct MigrationTests {
    /// A file as format 1 had it, written by hand: two documents, one in conflict, and a local document.
    func makeFormat1(_ path: String) throws {
        var handle: OpaquePointer?
        try #require(sqlite3_open(path, &handle) == SQLITE_OK)
        defer { sqlite3_close(handle) }
        let tree = try conflictTree().encoded().map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        let sql = """
            PRAGMA application_id = 0x4B697468; PRAGMA user_version = 1; PRAGMA journal_mode = WAL;
            CREATE TABLE document (sequence INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, revision TEXT NOT NULL,
                flags INTEGER NOT NULL, tree BLOB, body TEXT NOT NULL) STRICT;
            CREATE INDEX document_in_conflict ON document (id) WHERE flags & 4;
            CREATE TABLE leaf (id TEXT NOT NULL, revision TEXT NOT NULL, body TEXT NOT NULL,
                PRIMARY KEY (id, revision)) STRICT, WITHOUT ROWID;
            CREATE TABLE local (name TEXT PRIMARY KEY NOT NULL, body BLOB NOT NULL) STRICT, WITHOUT ROWID;
            CREATE TABLE meta (public_id TEXT NOT NULL, private_id TEXT NOT NULL, last_sequence INTEGER NOT NULL,
                live INTEGER NOT NULL, deleted INTEGER NOT NULL, conflicts INTEGER NOT NULL) STRICT;
            INSERT INTO document VALUES (4, 'plain', '1-aa', 0, NULL, '{"a":1}'),
                (7, 'contested', '2-bb', 6, x'\(tree)', '{"w":1}');
            INSERT INTO leaf VALUES ('contested', '2-aa', '{"l":1}');
            INSERT INTO local VALUES ('checkpoint', x'31');
            INSERT INTO meta VALUES ('00112233445566778899aabbccddeeff', 'ffeeddccbbaa99887766554433221100', 9, 2, 0, 1);
            """
        try #require(
            sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK, "\(String(cString: sqlite3_errmsg(handle)))")
    }

    private func conflictTree() throws -> RevisionTree {
        var tree = RevisionTree()
        try tree.insert(revision("2-aa"), history: [revision("1-cc")])
        try tree.insert(revision("2-bb"), history: [revision("1-cc")])
        return tree
    }

    @Test("format 1 is brought to this one, with everything that it held")
    func format1() throws {
        let folder = TemporaryFolder()
        try makeFormat1(folder.file())
        for _ in 0..<2 {
            let database = try fileDatabase(folder, create: false)
            #expect(database.publicID == "00112233445566778899aabbccddeeff")
            #expect(database.privateID == "ffeeddccbbaa99887766554433221100")
            try database.read { (snapshot) throws in
                #expect(try snapshot.lastSequence == 9)
                #expect(try snapshot.changes(since: 0, limit: 9).map(\.sequence) == [4, 7])
                let plain = try #require(try snapshot.document(id("plain")))
                #expect(text(plain.body) == #"{"a":1}"#)
                let loser = try snapshot.document(id("contested"), revision: revision("2-aa"))
                #expect(loser?.body == bytes(#"{"l":1}"#))
                let history = try snapshot.history(id("contested"), revision("2-bb"))
                #expect(history?.map(\.description) == ["1-cc"])
                #expect(try snapshot.conflicts(limit: 9).map(\.id.text) == ["contested"])
                #expect(try snapshot.localDocument("checkpoint") == bytes("1"))
                #expect(try snapshot.settings() == DatabaseSettings())
            }
            #expect(try database.findFaults() == [])
            database.close()
        }
        let database = try fileDatabase(folder, create: false)
        let sequence = try database.writeBlocking { try $0.put(id("new"), body: bytes("{}"), parent: nil).sequence }
        #expect(sequence == 10)
    }

    @Test("formats 2 to 4 are brought to this one, and the database is set to what it was", arguments: [2, 3, 4])
    func newerFormats(version: Int) throws {
        let folder = TemporaryFolder()
        do {
            let database = try fileDatabase(folder)
            try database.writeBlocking { transaction in
                try transaction.setSettings(DatabaseSettings(revisionsLimit: 7, keepsOldBodies: true))
                try transaction.insert(incoming("a", ["1-a"]))
            }
            database.close()
        }
        let file = try RawFile(folder.file())
        try file.execute(
            """
            DROP INDEX blob_expected; ALTER TABLE blob DROP COLUMN expected; ALTER TABLE blob DROP COLUMN expected_length;
            PRAGMA user_version = \(version)
            """)
        if version < 4 { try file.execute("DROP TABLE refusal") }
        if version == 2 { try file.execute("ALTER TABLE meta DROP COLUMN merge_policy") }
        let database = try fileDatabase(folder, create: false)
        #expect(try database.read { try $0.settings() } == DatabaseSettings(revisionsLimit: 7, keepsOldBodies: true))
        #expect(try database.read { try $0.documentCount } == 1)
        try database.writeBlocking { try $0.setSettings(DatabaseSettings(mergePolicy: .threeWay)) }
        let blob = Blob(digest: try AttachmentDigest(bytes: [UInt8](repeating: 7, count: 20)), length: 3)
        try database.leaveBeginningHere([1, 2], of: blob)
        #expect(try database.findFaults() == [])
        database.close()
        #expect(try RawFile(folder.file()).number("PRAGMA user_version") == 5)
    }

    @Test("a migration that fails leaves the file as it was")
    func failedMigration() throws {
        let folder = TemporaryFolder()
        try makeFormat1(folder.file())
        var handle: OpaquePointer?
        try #require(sqlite3_open(folder.file(), &handle) == SQLITE_OK)
        // Something that is in the way of a table of the new format.
        try #require(sqlite3_exec(handle, "CREATE TABLE local_1 (a)", nil, nil, nil) == SQLITE_OK)
        sqlite3_close(handle)
        #expect(throws: KithError.self) { try fileDatabase(folder, create: false) }
        try #require(sqlite3_open(folder.file(), &handle) == SQLITE_OK)
        try #require(sqlite3_exec(handle, "DROP TABLE local_1", nil, nil, nil) == SQLITE_OK)
        sqlite3_close(handle)
        let database = try fileDatabase(folder, create: false)
        #expect(try database.read { try $0.documentCount } == 2)
    }
}
