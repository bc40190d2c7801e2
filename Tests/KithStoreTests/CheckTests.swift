import Glibc
import KithDocuments
import KithStore
import Testing

@Suite("Store: check")
struct CheckTests {
    /// A kind of damage: what is done to a sound file, and what a check has to say of it.
    struct Damage: Sendable, CustomTestStringConvertible {
        let sql: String
        let faults: [String]
        var testDescription: String { sql }

        init(_ sql: String, _ faults: String...) {
            self.sql = sql
            self.faults = faults
        }
    }

    /// SHA-1 of "hello".
    private static let hello = "x'aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d'"

    /// What a revision says of an attachment with these bytes, or with others.
    private static func entry(_ name: String, digest: String = "qvTGHdzF6KLavt4PO0gs2a6pQ00=") -> String {
        #""\#(name)":{"content_type":"text/plain","digest":"sha1-\#(digest)","length":5,"stub":true}"#
    }

    /// Two documents, "contested" with a losing leaf and the sequence 3; "a" in the collection "stock", which is number 2;
    /// attachment 5, used by "plain".
    private func makeFile(_ folder: TemporaryFolder) throws {
        let database = try fileDatabase(folder)
        try database.writeBlocking { transaction in
            let stock = try CollectionName("stock")
            try transaction.createCollection(stock)
            try transaction.insert(incoming("plain", ["1-aa"]))
            try transaction.insert(incoming("contested", ["2-aa", "1-cc"]))
            try transaction.insert(incoming("contested", ["2-bb", "1-cc"]))
            try transaction.insert(incoming("gone", ["1-dd"], deleted: true))
            try transaction.collection(stock).put(id("a"), body: bytes("{}"), parent: nil)
        }
        database.close()
        let file = try RawFile(folder.file())
        try file.execute(
            """
            INSERT INTO blob (number, digest, length, uses, leased_until) VALUES (5, \(Self.hello), 5, 1, 0);
            INSERT INTO blob_piece VALUES (5 << 24, 3238736544897475342, CAST('hello' AS BLOB));
            INSERT INTO blob_use VALUES (1, 'plain', '1-aa', 5);
            UPDATE document_1 SET flags = 8, attachments = '{\(Self.entry("a"))}' WHERE id = 'plain';
            """)
    }

    @Test("a sound database has no faults, and everything in it was looked at")
    func sound() async throws {
        let folder = TemporaryFolder()
        try makeFile(folder)
        let database = try fileDatabase(folder, create: false)
        defer { database.close() }
        let report = try await database.check()
        #expect(report.isSound && report.faults.isEmpty)
        #expect([report.collections, report.documents, report.blobs] == [2, 4, 1])
        #expect(try database.findFaults() == [])
    }

    private static let oldTree: String = {
        // As the tree of "contested", and the body of 1-cc is kept.
        var tree = RevisionTree()
        for digest in ["aa", "bb"] {
            _ = try? tree.insert(
                RevisionID(parsing: "2-" + digest), history: [RevisionID(parsing: "1-cc")])
        }
        if let ancestor = try? RevisionID(parsing: "1-cc") { tree.setHasBody(true, of: ancestor) }
        return RawFile.literal(tree.encoded())
    }()

    private static let otherDigest = "AAAAAAAAAAAAAAAAAAAAAAAAAAA="

    static let damages: [Damage] = [
        // Documents
        Damage(
            "UPDATE document_1 SET tree = x'0102' WHERE id = 'contested'",
            "document contested: its revision tree cannot be read"),
        Damage(
            "UPDATE document_1 SET tree = NULL WHERE id = 'contested'", "document contested: its flags are 6, not 0"),
        Damage("UPDATE document_1 SET flags = 4 WHERE id = 'contested'", "document contested: its flags are 4, not 6"),
        Damage(
            "UPDATE document_1 SET flags = 6 | 16 WHERE id = 'contested'", "document contested: its flags are 22, not 6"
        ),
        Damage("UPDATE document_1 SET flags = 0 WHERE id = 'plain'", "document plain: its flags are 0, not 8"),
        Damage("UPDATE document_1 SET flags = 1 WHERE id = 'plain'", "document plain: its flags are 1, not 9"),
        Damage(
            "UPDATE document_1 SET revision = '2-aa' WHERE id = 'contested'", "document contested: its winner is 2-bb"),
        Damage(
            "UPDATE document_1 SET revision = 'x' WHERE id = 'plain'", "document plain: its revision ID is not legal"),
        Damage("UPDATE document_1 SET id = '_plain' WHERE id = 'plain'", "document _plain: its ID is not legal"),
        Damage("UPDATE document_1 SET id = '' WHERE id = 'gone'", "document : its ID is not legal"),
        Damage(
            "UPDATE document_1 SET sequence = 9 WHERE id = 'plain'",
            "document plain: its sequence is above the last one"),
        Damage("UPDATE document_1 SET sequence = -1 WHERE id = 'plain'", "document plain: its sequence is below 1"),
        Damage(
            "UPDATE document_1 SET body = '{ }' WHERE id = 'plain'",
            "document plain: the body of the winner is not canonical"),
        Damage(
            "UPDATE document_1 SET body = '[]' WHERE id = 'plain'",
            "document plain: the body of the winner is not canonical"),
        Damage(
            "UPDATE document_1 SET body = '' WHERE id = 'gone'",
            "document gone: the body of the winner is not canonical"),
        Damage(
            "UPDATE document_1 SET body = '{\"a\":' WHERE id = 'plain'",
            "document plain: the body of the winner is not canonical"),
        Damage(
            "UPDATE document_1 SET attachments = '{' WHERE id = 'plain'",
            "document plain: the attachments of the winner"),
        Damage(
            "UPDATE document_1 SET tree = \(oldTree) WHERE id = 'contested'",
            "document contested: its flags are 6, not 22", "document contested: revision 1-cc has no body"),
        Damage(
            "DELETE FROM document_1 WHERE id = 'contested'",
            "live documents are counted wrongly", "conflicts are counted wrongly",
            "document contested: there is a body, but no document"),
        Damage("DELETE FROM document_1 WHERE id = 'gone'", "deleted documents are counted wrongly"),
        // Bodies beside the winner's
        Damage("DELETE FROM leaf_1", "document contested: revision 2-aa has no body"),
        Damage("UPDATE leaf_1 SET body = '{'", "document contested: the body of 2-aa is not canonical"),
        Damage("UPDATE leaf_1 SET attachments = '{,}'", "document contested: the attachments of 2-aa"),
        Damage(
            "INSERT INTO leaf_1 VALUES ('contested', '1-cc', NULL, '{}')",
            "document contested: there is a body of 1-cc, of which the revision tree says that it has none"),
        Damage(
            "INSERT INTO leaf_1 VALUES ('contested', '1-77', NULL, '{}')",
            "document contested: there is a body of the unknown revision 1-77"),
        Damage(
            "INSERT INTO leaf_1 VALUES ('plain', '1-aa', NULL, '{}')",
            "document plain: the winner's body is there twice"),
        Damage(
            "INSERT INTO leaf_1 VALUES ('plain', 'x', NULL, '{}')",
            "document plain: there is a body of an illegal revision"),
        // What is there once
        Damage(
            "UPDATE collection SET last_sequence = 2 WHERE number = 1",
            "document contested: its sequence is above the last one"),
        Damage(
            "UPDATE collection SET live = 7", "live documents are counted wrongly",
            "in collection stock: live documents"),
        Damage("UPDATE collection SET deleted = 7 WHERE number = 1", "deleted documents are counted wrongly"),
        Damage("UPDATE collection SET conflicts = 7 WHERE number = 1", "conflicts are counted wrongly"),
        Damage("DELETE FROM collection WHERE number = 2", "there is a table document_2, which is not Kith's"),
        Damage("DELETE FROM collection WHERE number = 1", "there is no collection _default"),
        Damage("UPDATE meta SET last_collection = 1", "a collection has a number that was not given"),
        Damage("UPDATE meta SET public_id = 'me'", "the public ID of the database is not legal"),
        Damage("UPDATE meta SET private_id = upper(private_id) || 'G'", "the private ID of the database is not legal"),
        Damage("UPDATE meta SET revisions_limit = 0", "the limit of revisions is not legal"),
        Damage("UPDATE meta SET keeps_old_bodies = 2", "the setting for old bodies is not legal"),
        Damage("UPDATE meta SET merge_policy = 2", "the setting for merges is not legal"),
        Damage("CREATE TABLE foreign_table (a)", "there is a table foreign_table, which is not Kith's"),
        Damage("CREATE TRIGGER t AFTER DELETE ON leaf_1 BEGIN DELETE FROM document_1; END", "there is a trigger t"),
        Damage("DROP TABLE leaf_2", "there is no table leaf_2", "in collection stock: the tables cannot be read"),
        Damage("DROP INDEX conflict_1", "there is no index conflict_1"),
        Damage("UPDATE document_2 SET body = ' {}'", "document a in collection stock: the body of the winner"),
        // Attachments
        Damage(
            "UPDATE blob_piece SET bytes = CAST('hallo' AS BLOB)",
            "the bytes of attachment number 5 are not those that its digest names"),
        Damage("UPDATE blob_piece SET bytes = CAST('hell' AS BLOB)", "attachment number 5 is not whole"),
        Damage("UPDATE blob_piece SET place = place + 1", "attachment number 5 is not whole"),
        Damage("DELETE FROM blob_piece", "attachment number 5 is not whole"),
        Damage("INSERT INTO blob_piece VALUES ((5 << 24) + 1, 0, x'')", "attachment number 5 is not whole"),
        Damage("INSERT INTO blob_piece VALUES (7 << 24, 0, x'00')", "there are pieces of the unknown attachment 7"),
        Damage(
            "UPDATE blob_piece SET checksum = checksum + 1", "the checksum of a piece of attachment number 5 is wrong"),
        Damage("UPDATE blob SET uses = 2", "the uses of attachment number 5 are counted wrongly"),
        Damage("UPDATE blob SET length = -1", "attachment number 5 has a length below 0"),
        Damage("UPDATE blob SET digest = x'00'", "attachment number 5 has no legal digest"),
        Damage("UPDATE blob SET digest = NULL", "document plain: attachment number 5 is not complete"),
        Damage(
            "DELETE FROM blob", "document plain: attachment number 5 is not there",
            "there are pieces of the unknown attachment 5"),
        Damage(
            "UPDATE blob_use SET collection = 9",
            "document plain: an attachment is used in a collection that is not there"),
        Damage(
            "UPDATE blob_use SET revision = '1-bb'",
            "document plain: an attachment is used by a revision that has no body"),
        Damage(
            "DELETE FROM blob_use; UPDATE blob SET uses = 0",
            "document plain: the use of attachment sha1-qvTGHdzF6KLavt4PO0gs2a6pQ00= by 1-aa is not noted"),
        Damage(
            "UPDATE document_1 SET attachments = '{\(entry("a")),\(entry("b", digest: otherDigest))}' WHERE id = 'plain'",
            "document plain: the use of attachment sha1-\(otherDigest) by 1-aa is not noted"),
        Damage(
            "UPDATE document_1 SET attachments = '{\(entry("b", digest: otherDigest))}' WHERE id = 'plain'",
            "document plain: 1-aa is noted to use an attachment that it does not have"),
        Damage(
            "UPDATE document_1 SET attachments = NULL WHERE id = 'plain'",
            "document plain: an attachment is used by a revision that has none"),
        Damage(
            "UPDATE document_1 SET attachments = '{\"a\":1}' WHERE id = 'plain'",
            "document plain: the attachments of 1-aa cannot be read"),
        Damage(
            "UPDATE leaf_1 SET attachments = '{\(entry("a"))}'",
            "document contested: the use of attachment sha1-qvTGHdzF6KLavt4PO0gs2a6pQ00= by 2-aa is not noted"),
        Damage(
            "UPDATE blob_use SET id = 'other'", "document other: an attachment is used by a revision that has no body"),
    ]

    @Test("each kind of damage is found, and the fault says where it is", arguments: damages)
    func finds(_ damage: Damage) throws {
        let folder = TemporaryFolder()
        try makeFile(folder)
        try RawFile(folder.file()).execute(damage.sql)
        let database = try fileDatabase(folder, create: false)
        defer { database.close() }
        let found = try database.findFaults()
        for fault in damage.faults { #expect(found.contains { $0.contains(fault) }, "\(fault) is not among \(found)") }
    }

    @Test("bodies of superseded revisions are legal where the tree says that they are there")
    func oldBodies() throws {
        let folder = TemporaryFolder()
        try makeFile(folder)
        try RawFile(folder.file()).execute(
            """
            UPDATE document_1 SET tree = \(Self.oldTree), flags = 22 WHERE id = 'contested';
            INSERT INTO leaf_1 VALUES ('contested', '1-cc', NULL, '{}');
            """)
        let database = try fileDatabase(folder, create: false)
        defer { database.close() }
        #expect(try database.findFaults() == [])
    }

    @Test("so many faults are listed, and all are counted")
    func manyFaults() async throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder)
        let count = StoreLimits.checkFaultsListedMax + 50
        try database.writeBlocking { transaction in
            for number in 0..<count { try transaction.put(id("d\(number)"), body: bytes("{}"), parent: nil) }
        }
        database.close()
        try RawFile(folder.file()).execute("UPDATE document_1 SET body = '{ }'")
        let damaged = try fileDatabase(folder, create: false)
        defer { damaged.close() }
        let steps = Shared<[MaintenanceProgress]>([])
        let report = try await damaged.check { step in steps.withLock { $0.append(step) } }
        #expect(report.faults.count == StoreLimits.checkFaultsListedMax)
        #expect(report.faultCount == count && !report.isSound)
        let documents = steps.withLock { $0 }.filter { $0.phase == .documents }
        #expect(documents.count == 4 && documents.allSatisfy { $0.total == count && $0.completed <= count })
    }

    @Test("the time that attachments take grows with their number, not with its square", .timeLimit(.minutes(60)))
    func manyUses() throws {
        let folder = TemporaryFolder()
        try makeFile(folder)
        try RawFile(folder.file()).execute(
            """
            WITH RECURSIVE n (x) AS (SELECT 10 UNION ALL SELECT x + 1 FROM n WHERE x < 60009)
            INSERT INTO blob (number, digest, length, uses, leased_until) SELECT x, CAST(printf('%020d', x) AS BLOB), 0, 1, 0 FROM n;
            INSERT INTO blob_use SELECT 1, 'plain', '1-aa', number FROM blob WHERE number >= 10 AND number < 60000;
            """)
        let database = try fileDatabase(folder, create: false)
        defer { database.close() }
        // All those bytes are missing; ten are not used at all; and the document does not know of them.
        let report = try database.checkNow()
        #expect(report.blobs == 60_001 && report.faultCount == 60_000 + 10 + 1)
    }

    @Test("others write while a check runs, and it sees one state")
    func writersDoNotWait() async throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder)
        defer { database.close() }
        try database.writeBlocking { transaction in
            for number in 0..<2_000 { try transaction.put(id("d\(number)"), body: bytes("{}"), parent: nil) }
        }
        let written = Shared(0)
        let report = try await database.check { step in
            guard step.phase == .documents else { return }
            // A check that kept writers waiting would wait for itself here.
            let number = written.withLock {
                $0 += 1; return $0
            }
            _ = try? database.writeBlocking { try $0.put(id("new \(number)"), body: bytes("{}"), parent: nil) }
        }
        #expect(report.isSound && report.documents == 2_000)
        #expect(written.withLock { $0 } == 7)
        #expect(try database.read { try $0.documentCount } == 2_007)
    }

    @Test("a check that is cancelled, or whose database is closed, ends with that")
    func ends() async throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder)
        try database.writeBlocking { transaction in
            for number in 0..<2_000 { try transaction.put(id("d\(number)"), body: bytes("{}"), parent: nil) }
        }
        let (begun, goOn) = (Gate(), Gate())
        let cancelled = Task {
            try await database.check { _ in
                begun.open()
                goOn.wait()
            }
        }
        await begun.waitInTask()
        cancelled.cancel()
        goOn.open()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        let (begunAgain, goOnAgain) = (Gate(), Gate())
        let closed = Task {
            try await database.check { _ in
                begunAgain.open()
                goOnAgain.wait()
            }
        }
        await begunAgain.waitInTask()
        let closing = Task.detached { database.close() }
        while (try? database.read { _ in }) != nil { try await Task.sleep(for: .milliseconds(1)) }
        goOnAgain.open()
        do {
            _ = try await closed.value
            Issue.record("a check of a closed database came to its end")
        } catch {
            #expect((error as? KithError)?.code == .closed)
        }
        await closing.value
        await #expect(throws: KithError.self) { try await database.check() }
    }
}
