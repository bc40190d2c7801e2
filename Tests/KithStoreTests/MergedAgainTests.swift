import KithDocuments
import Testing

@testable import KithStore

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

    /// Two stores that have each merged the beginning of the other's version.
    private func crossed() throws -> (one: Database, two: Database) {
        let start = try parted()
        let one = try merging(start + [incoming("a", ["4-x", "3-x", "2-x", "1-a"], body: #"{"x":2,"y":0,"z":0}"#)])
        let two = try merging(start + [incoming("a", ["4-y", "3-y", "2-y", "1-a"], body: #"{"x":0,"y":2,"z":1}"#)])
        try one.mergeConflicts()
        try two.mergeConflicts()
        return (one, two)
    }

    @Test(
        "two persons keep opposite versions of one conflict: one choice stands as a whole, and what was edited since stays",
        arguments: [true, false], [true, false])
    func oppositeChoices(isCertain: Bool, goesOn: Bool) throws {
        let first = isCertain ? ["1-a"] : []
        let versions = try [
            incoming("a", ["1-a"], body: #"{"a":0,"b":0}"#),
            incoming("a", ["2-w"] + first, body: #"{"a":1,"b":0}"#),
            incoming("a", ["2-l"] + first, body: #"{"a":0,"b":1}"#),
        ][(isCertain ? 0 : 1)...]
        var databases: [Database] = []
        for kept in ["2-w", "2-l"] {
            let database = try merging(Array(versions))
            let conflict = try #require(try database.read { try $0.conflict(id("a")) })
            let chosen = try revision(kept)
            let stays = try database.writeBlocking { try $0.resolve(conflict, as: .keep(chosen)).revision }
            if goesOn, kept == "2-w" {
                _ = try database.writeBlocking {
                    try $0.put(id("a"), body: bytes(#"{"a":1,"b":0,"c":1}"#), parent: stays)
                }
            }
            databases.append(database)
        }
        let sent = try databases.map { try leaves($0) }
        var bodies: Set<String> = []
        var digests: Set<String> = []
        // The first node alone has the body of what was kept there and edited, which the merge may take.
        for (database, others) in zip(databases, sent.reversed()).prefix(goesOn ? 1 : 2) {
            try insert(database, others)
            try database.mergeConflicts()
            #expect(try database.read { try $0.conflictCount } == 0)
            bodies.insert(text(try document(database).body))
            digests.insert(try database.read { "\(try $0.digest())" })
        }
        #expect(digests.count == 1)
        let more = goesOn ? #","c":1"# : ""
        #expect(bodies.count == 1)
        #expect(bodies.isSubset(of: [#"{"a":1,"b":0\#(more)}"#, #"{"a":0,"b":1\#(more)}"#]))
    }

    @Test("what versions parted from is read within a bound of bytes; beyond it the newest counts alone")
    func bounds() throws {
        let (one, two) = try crossed()
        try insert(two, leaves(one))
        let bases = try two.read { (snapshot) throws in
            let row = try #require(try snapshot.row(id("a"), snapshot.connection))
            let winner = try #require(try snapshot.document(id("a")))
            let versions = winner.leaves.filter { !$0.isDeleted }.map(\.revision)
            // Two bodies of 19 bytes each.
            return try [StoreLimits.mergedBytesMax, 38, 37].map { bytesMax in
                var reader = MergeBaseReader(snapshot, try row.tree("a"), winner: winner, bytesMax: bytesMax)
                return try reader.parting(of: versions[1], from: [versions[0]]).base.content
            }
        }
        #expect(
            bases.map { $0.map { text($0.body) } }
                == [#"{"x":1,"y":1,"z":1}"#, #"{"x":1,"y":1,"z":1}"#, #"{"x":1,"y":0,"z":0}"#])
    }

    @Test("an app's body waits for a node that knows more where attachments are to be merged, and only there")
    func appWaits() throws {
        let (one, two) = try crossed()
        // It has not the body of 2-y.
        let other = try merging(Array(parted().prefix(2)))
        try insert(other, leaves(two))
        let sent = try leaves(one)
        try other.writeBlocking { transaction in
            let blob = try transaction.addBlob(bytes("photo"))
            let photo = try DocumentAttachment(name: "photo", digest: blob.digest, length: blob.length)
            for leaf in sent where !leaf.isDeleted {
                try transaction.insert(
                    IncomingRevision(
                        id: leaf.id, revision: leaf.revision, history: leaf.history, body: leaf.body,
                        attachments: AttachmentList([photo])))
            }
        }
        let conflict = try #require(try other.read { try $0.conflict(id("a")) })
        #expect(conflict.isKnownInPart)
        func resolve(_ attachments: AttachmentList?) throws {
            try other.writeBlocking { transaction in
                _ = try transaction.resolve(conflict, as: .merged(body: bytes("{}"), attachments: attachments))
            }
        }
        #expect(code { try resolve(nil) } == .cannotMerge)
        try resolve(AttachmentList())
        #expect(try other.read { try $0.conflictCount } == 0)
    }

    @Test("versions that merged each other's beginnings: later edits of both sides stay")
    func crissCross() throws {
        let (one, two) = try crossed()
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

    @Test(
        "a value that lost does not come back with a version that goes on, also where the merge said what the winner said"
    )
    func lostStaysLost() throws {
        let start = try [
            incoming("a", ["1-a"], body: #"{"x":0,"y":0}"#),
            incoming("a", ["3-w", "2-w", "1-a"], body: #"{"x":1,"y":0}"#),
            incoming("a", ["2-l", "1-a"], body: #"{"x":2,"y":0}"#),
        ]
        let later = try incoming("a", ["6-l", "5-l", "4-l", "3-l", "2-l", "1-a"], body: #"{"x":2,"y":1}"#)
        var digests: Set<String> = []
        for _ in 0..<2 {
            let database = try merging(start)
            #expect(try database.mergeConflicts() == 1)
            let merged = try document(database)
            #expect(text(merged.body) == #"{"x":1,"y":0}"#)
            let history = try #require(try database.read { try $0.history(id("a"), merged.revision) })
            #expect(history.map(\.isMergeMark) == [true, false, false, false])
            // Done again it writes nothing.
            #expect(try database.mergeConflicts() == 0)
            try insert(database, [later])
            #expect(try database.mergeConflicts() == 1)
            #expect(text(try document(database).body) == #"{"x":1,"y":1}"#)
            #expect(try database.findFaults() == [])
            digests.insert(try document(database).revision.description)
        }
        #expect(digests.count == 1)
    }

    @Test(
        "a version that a person did not keep goes on elsewhere: only what it changed since is merged",
        arguments: [0, 1])
    func notKept(kept: Int) throws {
        let database = try merging(try parted())
        let versions = try document(database).leaves.map(\.revision)
        try database.writeBlocking {
            _ = try $0.resolve(id("a"), winner: versions[kept], losers: [versions[1 - kept]])
        }
        #expect(text(try document(database).body) == [#"{"x":1,"y":0,"z":0}"#, #"{"x":0,"y":1,"z":1}"#][kept])
        let later =
            try kept == 0
            ? incoming("a", ["3-y", "2-y", "1-a"], body: #"{"w":1,"x":0,"y":1,"z":1}"#)
            : incoming("a", ["4-x", "3-x", "2-x", "1-a"], body: #"{"w":1,"x":1,"y":0,"z":0}"#)
        try insert(database, [later])
        #expect(try database.mergeConflicts() == 1)
        #expect(
            text(try document(database).body) == [#"{"w":1,"x":1,"y":0,"z":0}"#, #"{"w":1,"x":0,"y":1,"z":1}"#][kept])
        #expect(try database.findFaults() == [])
    }

    @Test("nodes in a ring, each with versions that say the same, come to one revision and make no more of them")
    func ring() throws {
        let names = ["2-b", "2-c", "2-d", "2-e", "2-f"]
        let stores = try names.indices.map { place in
            try merging(
                [incoming("a", ["1-a"], body: #"{"x":0}"#)]
                    + [names[place], names[(place + 1) % names.count]].map {
                        try incoming("a", [$0, "1-a"], body: #"{"x":1}"#)
                    })
        }
        for round in 0... {
            try #require(round < 15, "merges go on for ever")
            for store in stores { try store.mergeConflicts() }
            let isDone = try stores.allSatisfy { try $0.read { try $0.conflictCount } == 0 }
            if try isDone && Set(stores.map { try document($0).revision }).count == 1 { break }
            // All at the same moment, and each from its neighbour only.
            let sent = try stores.map { try leaves($0) }
            for (place, store) in stores.enumerated() { try insert(store, sent[(place + 1) % sent.count]) }
        }
        for store in stores {
            #expect(text(try document(store).body) == #"{"x":1}"#)
            #expect(try store.findFaults() == [])
        }
    }

    @Test("what merges took differently where versions clashed is no edit, and an edit that has seen all of it stays")
    func tookDifferently() throws {
        let start = try [
            incoming("a", ["1-a"], body: #"{"x":0}"#), incoming("a", ["2-b", "1-a"], body: #"{"x":1}"#),
            incoming("a", ["2-c", "1-a"], body: #"{"x":3}"#),
        ]
        let one = try merging(start)
        try one.mergeConflicts()
        #expect(text(try document(one).body) == #"{"x":3}"#)
        // The other took 1, since its version of that had gone on.
        let two = try merging(start + [incoming("a", ["3-b", "2-b", "1-a"], body: #"{"x":1,"y":1}"#)])
        try two.mergeConflicts()
        #expect(text(try document(two).body) == #"{"x":1,"y":1}"#)
        let (sent, back) = (try leaves(one), try leaves(two))
        // Somebody edits the one while the two are merged elsewhere.
        try one.writeBlocking {
            _ = try $0.put(id("a"), body: bytes(#"{"x":15}"#), parent: $0.document(id("a"))!.revision)
        }
        try insert(two, sent)
        try two.mergeConflicts()
        let merged = try leaves(two)
        let edited = try leaves(one)
        try insert(one, back + merged)
        try insert(two, edited)
        for database in [one, two] {
            #expect(try database.mergeConflicts() == 1)
            #expect(text(try document(database).body) == #"{"x":15,"y":1}"#)
            #expect(try database.findFaults() == [])
        }
        #expect(try one.read { try $0.digest() } == two.read { try $0.digest() })
    }

    @Test("a merge mark is no revision that anybody can send or go on from")
    func markAsRevision() throws {
        let database = try merging(try parted())
        let mark = try RevisionID.mergeMark(of: revision("2-y"), after: revision("3-x"))
        for history in [["3-x", "2-x", "1-a"], []] {
            let error = #expect(throws: KithError.self) {
                try insert(database, [incoming("a", [mark.description] + history)])
            }
            #expect(error?.code == .badDocument && error?.message.contains("merge mark") == true)
        }
        #expect(code { try insert(database, [incoming("new", [mark.description])]) } == .badDocument)
        #expect(
            code { try database.writeBlocking { _ = try $0.put(id("a"), body: bytes("{}"), parent: mark) } }
                == .conflict)
        // As an ancestor of a revision it is what it is for.
        try insert(database, [incoming("a", ["5-m", mark.description, "3-x", "2-x", "1-a"])])
        #expect(try database.findFaults() == [])
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
