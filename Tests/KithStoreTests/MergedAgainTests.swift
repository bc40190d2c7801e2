import KithDocuments
import KithStore
import Testing

/// Versions that were merged already and have gone on elsewhere.
@Suite("Store: merging what was merged before")
struct MergedAgainTests {
    private func merging(_ revisions: [IncomingRevision] = []) throws -> Database {
        let database = try memoryDatabase()
        try database.writeBlocking { try $0.setSettings(DatabaseSettings(mergePolicy: .threeWay)) }
        try insert(database, revisions)
        return database
    }

    private func insert(_ database: Database, _ revisions: [IncomingRevision]) throws {
        try database.writeBlocking { transaction in for revision in revisions { try transaction.insert(revision) } }
    }

    private func document(_ database: Database) throws -> StoredDocument {
        try #require(try database.read { try $0.document(id("a")) })
    }

    /// All leaves with their histories, as a node sends them.
    private func leaves(_ database: Database) throws -> [IncomingRevision] {
        try database.read { snapshot in
            try snapshot.document(id("a"))!.leaves.map { leaf in
                let sent = try snapshot.revisionForTransfer(id("a"), leaf.revision)!
                return IncomingRevision(
                    id: sent.id, revision: sent.revision, history: sent.history, isDeleted: sent.isDeleted,
                    body: sent.body)
            }
        }
    }

    /// x, y and z were 0. One branch has x, which wins; the other y, and z as well.
    private func parted() throws -> [IncomingRevision] {
        try [
            incoming("a", ["1-a"], body: #"{"x":0,"y":0,"z":0}"#),
            incoming("a", ["3-x", "2-x", "1-a"], body: #"{"x":1,"y":0,"z":0}"#),
            incoming("a", ["2-y", "1-a"], body: #"{"x":0,"y":1,"z":1}"#),
        ]
    }

    @Test("the later edit of a field stays where the version with the earlier one was merged; nodes agree")
    func goesOn() throws {
        let database = try merging(try parted())
        #expect(try database.mergeConflicts() == 1)
        #expect(text(try document(database).body) == #"{"x":1,"y":1,"z":1}"#)
        let merged = try leaves(database)
        let later = try incoming("a", ["3-y", "2-y", "1-a"], body: #"{"x":0,"y":2,"z":1}"#)
        var digests: Set<String> = []
        for order in permutations(merged + [later]) {
            let other = try merging(try parted())
            // The merged revision and the version that went on can come in any order, and each is merged as it comes.
            for revision in order {
                try insert(other, [revision])
                try other.mergeConflicts()
            }
            #expect(text(try document(other).body) == #"{"x":1,"y":2,"z":1}"#)
            #expect(try other.read { try $0.conflictCount } == 0)
            #expect(try other.findFaults() == [])
            digests.insert(try document(other).revision.description)
        }
        // A node that has the later edit before the merged revision merges that with what it has.
        #expect(digests.count == 2)
        #expect(try database.findFaults() == [])
    }

    @Test("what was removed after the merge stays removed, and what was removed before it does not come back")
    func removals() throws {
        let database = try merging(try parted())
        try database.mergeConflicts()
        let merged = try document(database)
        try database.writeBlocking {
            _ = try $0.put(id("a"), body: bytes(#"{"x":1,"z":1}"#), parent: merged.revision)
        }
        try insert(database, [incoming("a", ["3-y", "2-y", "1-a"], body: #"{"x":0,"y":1}"#)])
        #expect(try database.mergeConflicts() == 1)
        #expect(text(try document(database).body) == #"{"x":1}"#)
    }

    @Test("chains: a merged revision that was merged again, and a version that goes on twice")
    func chains() throws {
        let database = try merging(try parted())
        try database.mergeConflicts()
        try insert(database, [incoming("a", ["3-y", "2-y", "1-a"], body: #"{"x":0,"y":2,"z":1}"#)])
        try database.mergeConflicts()
        #expect(text(try document(database).body) == #"{"x":1,"y":2,"z":1}"#)
        // It goes on from what was merged twice, and the first version once more from where it was.
        try insert(database, [incoming("a", ["4-y", "3-y", "2-y", "1-a"], body: #"{"x":0,"y":3,"z":1}"#)])
        try insert(database, [incoming("a", ["3-w", "2-y", "1-a"], body: #"{"w":1,"x":0,"y":1,"z":2}"#)])
        #expect(try database.mergeConflicts() >= 1)
        #expect(text(try document(database).body) == #"{"w":1,"x":1,"y":3,"z":2}"#)
        #expect(try database.read { try $0.conflictCount } == 0)
        #expect(try database.findFaults() == [])
    }

    @Test("versions that merged each other's beginnings: later edits of both sides stay")
    func crissCross() throws {
        let start = try parted()
        let one = try merging(start + [incoming("a", ["4-x", "3-x", "2-x", "1-a"], body: #"{"x":2,"y":0,"z":0}"#)])
        let two = try merging(start + [incoming("a", ["4-y", "3-y", "2-y", "1-a"], body: #"{"x":0,"y":2,"z":1}"#)])
        try one.mergeConflicts()
        try two.mergeConflicts()
        #expect(text(try document(one).body) == #"{"x":2,"y":1,"z":1}"#)
        #expect(text(try document(two).body) == #"{"x":1,"y":2,"z":1}"#)
        let (sent, back) = (try leaves(one), try leaves(two))
        try insert(two, sent)
        try insert(one, back)
        for database in [one, two] {
            #expect(try database.mergeConflicts() == 1)
            #expect(text(try document(database).body) == #"{"x":2,"y":2,"z":1}"#)
        }
        #expect(try one.read { try $0.digest() } == two.read { try $0.digest() })
    }

    @Test("a version that was merged comes late, without having changed: nothing of it is merged twice")
    func comesLate() throws {
        let database = try merging(try parted())
        try database.mergeConflicts()
        let merged = try leaves(database)
        let other = try merging([try parted()[0], try parted()[1]])
        try insert(other, [merged[0]])
        try other.writeBlocking {
            _ = try $0.put(id("a"), body: bytes(#"{"x":1,"z":1}"#), parent: merged[0].revision)
        }
        try insert(other, [try parted()[2]])
        #expect(try other.mergeConflicts() == 1)
        #expect(text(try document(other).body) == #"{"x":1,"z":1}"#)
        try insert(other, merged)
        #expect(try other.mergeConflicts() == 0)
        #expect(try other.findFaults() == [])
    }

    @Test("where what was merged is not known, the conflict waits, and what was merged ends it")
    func unknown() throws {
        let database = try merging(try parted())
        try database.mergeConflicts()
        let merged = try leaves(database)
        let other = try merging([try parted()[0], try parted()[1]])
        try insert(other, [merged[0], try incoming("a", ["3-v", "2-v", "1-a"], body: #"{"v":1,"x":0,"y":0,"z":0}"#)])
        #expect(try other.mergeConflicts() == 0)
        #expect(try other.read { try $0.conflictCount } == 1)
        try insert(other, merged)
        #expect(try other.mergeConflicts() == 1)
        #expect(text(try document(other).body) == #"{"v":1,"x":1,"y":1,"z":1}"#)
    }

    @Test("marks that lie stop no document and lose no version: all are readable, and no merge goes on for ever")
    func lies() throws {
        let database = try merging([try parted()[0]])
        let names = ["3-b", "3-c", "3-d", "3-e"]
        for (number, name) in names.enumerated() {
            let named = names[(number + 1) % names.count]
            let mark = try RevisionID.mergeMark(of: revision(named), after: revision("1-a")).description
            try insert(database, [incoming("a", [name, mark, "1-a"], body: #"{"\#(name)":1}"#)])
        }
        // One that says that it has what it has not, which is no more than a child of it could say.
        try insert(database, [incoming("b", ["1-a"], body: "{}"), incoming("b", ["2-b", "1-a"], body: #"{"b":1}"#)])
        let mark = try RevisionID.mergeMark(of: revision("2-b"), after: revision("2-l")).description
        try insert(database, [incoming("b", ["4-l", mark, "2-l", "1-a"], body: #"{"l":1}"#)])
        try database.mergeConflicts()
        #expect(try database.mergeConflicts() == 0)
        for name in names {
            #expect(
                try database.read { try $0.document(id("a"), revision: revision(name))?.body }
                    == bytes(#"{"\#(name)":1}"#))
        }
        #expect(try database.read { try $0.document(id("b"), revision: revision("2-b"))?.body } == bytes(#"{"b":1}"#))
        #expect(try database.findFaults() == [])
    }
}
