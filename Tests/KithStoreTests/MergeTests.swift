import KithDocuments
import KithStore
import Testing

@Suite("Store: merging conflicts")
struct MergeTests {
    private func merging(keepsOldBodies: Bool = true) throws -> Database {
        let database = try memoryDatabase()
        if keepsOldBodies {
            try database.writeBlocking { try $0.setSettings(DatabaseSettings(mergePolicy: .threeWay)) }
        }
        return database
    }

    private func document(_ database: Database, _ name: String = "a") throws -> StoredDocument? {
        try database.read { try $0.document(id(name)) }
    }

    private func insert(_ database: Database, _ revisions: [IncomingRevision]) throws {
        try database.writeBlocking { transaction in for revision in revisions { try transaction.insert(revision) } }
    }

    @Test("the policy is kept in the file and keeps the bodies that merges need")
    func policy() throws {
        let folder = TemporaryFolder()
        do {
            let database = try fileDatabase(folder)
            #expect(try database.read { try $0.settings().mergePolicy } == .byHand)
            try database.writeBlocking { try $0.setSettings(DatabaseSettings(mergePolicy: .threeWay)) }
            database.close()
        }
        let database = try fileDatabase(folder, create: false)
        #expect(try database.read { try $0.settings() } == DatabaseSettings(mergePolicy: .threeWay))
        let (first, _) = try database.writeBlocking { try $0.put(id("a"), body: bytes(#"{"n":1}"#), parent: nil) }
        try database.writeBlocking { _ = try $0.put(id("a"), body: bytes(#"{"n":2}"#), parent: first) }
        #expect(try database.read { try $0.document(id("a"), revision: first)?.body } == bytes(#"{"n":1}"#))
        #expect(try database.findFaults() == [])
    }

    @Test("versions are merged from the revision from which they parted, the same on every node, whatever came first")
    func threeVersions() throws {
        let revisions = try [
            incoming("a", ["1-a"], body: #"{"same":0,"x":1,"y":1,"z":1}"#),
            incoming("a", ["2-b", "1-a"], body: #"{"same":0,"x":2,"y":1,"z":1}"#),
            incoming("a", ["2-c", "1-a"], body: #"{"same":0,"x":1,"y":2,"z":1}"#),
            incoming("a", ["3-d", "2-d", "1-a"], body: #"{"same":0,"x":9,"y":1,"z":2}"#),
        ]
        var digests: Set<String> = []
        for order in permutations(Array(revisions.dropFirst())) {
            let database = try merging()
            try insert(database, [revisions[0]] + order)
            #expect(try database.mergeConflicts() == 1)
            let merged = try #require(try document(database))
            // x clashes: the winner's, which is the highest generation.
            #expect(text(merged.body) == #"{"same":0,"x":9,"y":2,"z":2}"#)
            // A child of 3-d, with a mark for each of the others in between.
            #expect(merged.revision.generation == 6)
            let history = try #require(try database.read { try $0.history(id("a"), merged.revision) })
            #expect(history.map(\.isMergeMark) == [true, true, false, false, false])
            #expect(history[2] == (try revision("3-d")))
            #expect(merged.conflicts == [])
            #expect(try database.read { try $0.conflictCount } == 0)
            #expect(try database.mergeConflicts() == 0)
            #expect(try database.findFaults() == [])
            digests.insert(try database.read { try $0.digest().hex })
        }
        #expect(digests.count == 1)
    }

    @Test("documents that were made apart under one name are merged as having nothing in common")
    func noAncestor() throws {
        let database = try merging()
        try insert(
            database,
            [incoming("a", ["1-a"], body: #"{"a":1,"n":1}"#), incoming("a", ["1-b"], body: #"{"b":1,"n":2}"#)])
        #expect(try database.mergeConflicts() == 1)
        #expect(text(try #require(try document(database)).body) == #"{"a":1,"b":1,"n":2}"#)
    }

    @Test("what is not certain is left to a person: an ancestor without body, and histories that do not say")
    func cannotMerge() throws {
        let withoutBody = try merging(keepsOldBodies: false)
        let revisions = try [
            incoming("a", ["1-a"]), incoming("a", ["2-b", "1-a"]), incoming("a", ["2-c", "1-a"]),
        ]
        try insert(withoutBody, revisions)
        let cut = try merging()
        try insert(cut, [incoming("a", ["5-b", "4-b"]), incoming("a", ["5-c", "4-c"])])
        for (database, reason) in [(withoutBody, "the body of revision 1-a"), (cut, "it is not known")] {
            let before = try database.read { try $0.digest() }
            #expect(try database.mergeConflicts() == 0)
            #expect(try database.read { try $0.digest() } == before)
            let error = #expect(throws: KithError.self) {
                try database.writeBlocking { _ = try $0.mergeConflict(id("a")) }
            }
            #expect(error?.code == .cannotMerge)
            #expect(error?.message.contains(reason) == true)
            let conflict = try #require(try database.read { try $0.conflict(id("a")) })
            #expect(conflict.versions.count == 2)
            #expect(conflict.commonAncestor == nil)
        }
    }

    @Test("an edit beats a deletion, and a branch that was deleted is no version")
    func deletion() throws {
        let database = try merging()
        try insert(
            database,
            [
                incoming("a", ["1-a"], body: #"{"x":1,"y":1}"#), incoming("a", ["3-d", "2-d", "1-a"], deleted: true),
                incoming("a", ["2-b", "1-a"], body: #"{"x":2,"y":1}"#),
            ])
        #expect(try database.read { try $0.conflictCount } == 0)
        #expect(try database.read { try $0.conflict(id("a")) } == nil)
        #expect(try database.mergeConflicts() == 0)
        #expect(text(try #require(try document(database)).body) == #"{"x":2,"y":1}"#)
        try insert(database, [incoming("a", ["2-c", "1-a"], body: #"{"x":1,"y":2}"#)])
        #expect(try database.mergeConflicts() == 1)
        #expect(text(try #require(try document(database)).body) == #"{"x":2,"y":2}"#)
    }

    @Test("attachments of both sides stay, and the bytes of none are lost")
    func attachments() throws {
        let (one, two) = (try merging(), try merging())
        for database in [one, two] {
            try database.writeBlocking { transaction in
                func list(_ names: [(String, String)]) throws -> AttachmentList {
                    try AttachmentList(
                        names.map { name, content in
                            let blob = try transaction.addBlob(bytes(content))
                            return try DocumentAttachment(name: name, digest: blob.digest, length: blob.length)
                        })
                }
                func insert(_ revisions: [String], _ body: String, _ names: [(String, String)]) throws {
                    try transaction.insert(
                        IncomingRevision(
                            id: id("a"), revision: revision(revisions[0]),
                            history: revisions.dropFirst().map { try revision($0) }, isDeleted: false,
                            body: bytes(body), attachments: list(names)))
                }
                try insert(["1-a"], "{}", [("photo", "old"), ("plan", "old")])
                try insert(["2-b", "1-a"], #"{"b":1}"#, [("photo", "new"), ("plan", "old"), ("b", "b")])
                try insert(["2-c", "1-a"], #"{"c":1}"#, [("photo", "old"), ("c", "c")])
            }
            #expect(try database.mergeConflicts() == 1)
            let merged = try #require(try document(database))
            #expect(text(merged.body) == #"{"b":1,"c":1}"#)
            #expect(merged.attachments.map(\.name) == ["b", "c", "photo"])
            for attachment in merged.attachments {
                var read: [UInt8] = []
                try database.read {
                    try $0.readBlob(attachment.digest) {
                        read += $0
                        return true
                    }
                }
                #expect(text(read) == (attachment.name == "photo" ? "new" : attachment.name))
            }
            #expect(try database.findFaults() == [])
        }
        #expect(try one.read { try $0.digest() } == two.read { try $0.digest() })
    }

    @Test("versions that say the same become one, whose history says of both that they are in it")
    func sameBodies() throws {
        let database = try merging()
        try insert(
            database,
            [
                incoming("a", ["1-a"]), incoming("a", ["2-b", "1-a"], body: #"{"n":1}"#),
                incoming("a", ["2-c", "1-a"], body: #"{"n":1}"#),
            ])
        #expect(try database.mergeConflicts() == 1)
        let merged = try #require(try document(database))
        #expect(text(merged.body) == #"{"n":1}"#)
        let history = try database.read { try $0.history(id("a"), merged.revision) }
        #expect(
            history == [
                try .mergeMark(of: revision("2-b"), after: revision("2-c")), try revision("2-c"), try revision("1-a"),
            ])
        #expect(try database.mergeConflicts() == 0)
    }

    @Test("very many versions are merged a part at a time, and nothing of any is lost")
    func manyVersions() throws {
        let count = StoreLimits.mergedVersionsMax * 3
        let database = try merging()
        try insert(database, [incoming("a", ["1-a"], body: "{}")])
        for number in 0..<count {
            try insert(
                database, [incoming("a", ["2-\(String(number, radix: 16))b", "1-a"], body: #"{"f\#(number)":1}"#)])
        }
        #expect(try database.mergeConflicts() >= 3)
        let body = try JSONValue(parsing: #require(try document(database)).body)
        #expect(body.objectValue?.count == count)
        #expect(try database.findFaults() == [])
    }

    @Test("compaction keeps what conflicts are merged from")
    func compaction() async throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder)
        try await database.write { transaction in
            try transaction.setSettings(DatabaseSettings(mergePolicy: .threeWay))
            for name in ["a", "b"] { try transaction.insert(incoming(name, ["1-a"], body: #"{"x":1,"y":1}"#)) }
            for name in ["a", "b"] {
                try transaction.insert(incoming(name, ["2-b", "1-a"], body: #"{"x":2,"y":1}"#))
            }
            try transaction.insert(incoming("a", ["2-c", "1-a"], body: #"{"x":1,"y":2}"#))
        }
        #expect(try await database.compact().oldBodies == 0)
        #expect(try database.mergeConflicts() == 1)
        #expect(text(try #require(try document(database)).body) == #"{"x":2,"y":2}"#)
        // A peer that has not heard of it yet can still be merged with.
        #expect(try await database.compact().oldBodies == 0)
        try await database.write { transaction in
            for name in ["a", "b"] {
                try transaction.insert(incoming(name, ["3-d", "2-d", "1-a"], body: #"{"x":1,"y":3}"#))
            }
        }
        #expect(try database.mergeConflicts() == 2)
        #expect(try database.findFaults() == [])
    }

    @Test("compaction leaves the newest old bodies to a database that merges, as many and as large as is said")
    func compactionBounds() async throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder)
        let large = String(repeating: "x", count: StoreLimits.compactionKeptBytesMax / 2 + 1)
        let count = StoreLimits.compactionKeptBodiesMax + 5
        try await database.write { transaction in
            try transaction.setSettings(DatabaseSettings(mergePolicy: .threeWay))
            var (small, big): (RevisionID?, RevisionID?)
            for number in 0...count {
                small = try transaction.put(id("small"), body: bytes(#"{"n":\#(number)}"#), parent: small).revision
                guard number < 4 else { continue }
                big = try transaction.put(id("big"), body: bytes(#"{"n":\#(number),"t":"\#(large)"}"#), parent: big)
                    .revision
            }
        }
        // Of the small one all but the newest 20, of the large one all but the newest.
        #expect(try await database.compact().oldBodies == 5 + 2)
        #expect(try await database.compact().oldBodies == 0)
        #expect(try database.findFaults() == [])
        let (kept, dropped) = try database.read { snapshot in
            let winner = try snapshot.document(id("small"))!.revision
            let history = try snapshot.history(id("small"), winner)!
            return (history[StoreLimits.compactionKeptBodiesMax - 1], history[StoreLimits.compactionKeptBodiesMax])
        }
        for (parent, isMerged) in [(kept, true), (dropped, false)] {
            let history = try #require(try database.read { try $0.history(id("small"), parent) })
            let late = try incoming(
                "small", ["\(parent.generation + 1)-f", parent.description] + history.map(\.description),
                body: #"{"late\#(parent.generation)":1,"n":0}"#)
            _ = try await database.write { try $0.insert(late) }
            #expect(try database.mergeConflicts() == (isMerged ? 1 : 0))
        }
        // Without merges nothing is left.
        try await database.write { try $0.setSettings(DatabaseSettings()) }
        #expect(try await database.compact().oldBodies > StoreLimits.compactionKeptBodiesMax)
        #expect(try database.findFaults() == [])
    }

    @Test("compaction counts attachments that only old bodies have, and keeps none beyond the bound")
    func compactionOfAttachments() async throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder)
        let size = StoreLimits.compactionKeptBytesMax / 4
        try await database.write { transaction in
            try transaction.setSettings(DatabaseSettings(mergePolicy: .threeWay))
            for (name, size) in [("small", size), ("large", StoreLimits.compactionKeptBytesMax + 1)] {
                var parent: RevisionID?
                for number in 0..<7 {
                    let list = try ["same", "new"].map { kind in
                        let content = kind == "same" ? "same" : String(repeating: "\(number)", count: size)
                        let blob = try transaction.addBlob(bytes(content))
                        return try DocumentAttachment(name: kind, digest: blob.digest, length: blob.length)
                    }
                    parent = try transaction.put(
                        id(name), body: bytes(#"{"n":\#(number)}"#), parent: parent, attachments: AttachmentList(list)
                    ).revision
                }
            }
        }
        // Of the small one three, which are a little less than the bound with their bodies; of the large one none.
        let result = try await database.compact()
        #expect(result.oldBodies == 3 + 6)
        #expect(try await database.compact().oldBodies == 0)
        #expect(try database.findFaults() == [])
    }

    @Test("a resolution is refused when the document has changed since, and when it keeps what is no version")
    func overtaken() throws {
        let database = try merging()
        try insert(
            database, [incoming("a", ["1-a"]), incoming("a", ["2-b", "1-a"]), incoming("a", ["2-c", "1-a"])])
        let conflict = try #require(try database.read { try $0.conflict(id("a")) })
        #expect(try conflict.commonAncestor?.revision == revision("1-a"))
        #expect(
            code { try database.writeBlocking { _ = try $0.resolve(conflict, as: .keep(revision("1-a"))) } }
                == .badRequest)
        try insert(database, [incoming("a", ["2-d", "1-a"])])
        let before = try database.read { try $0.digest() }
        for resolution in [ConflictResolution.keep(try revision("2-b")), .delete, .merged(body: bytes("{}"))] {
            #expect(
                code { try database.writeBlocking { _ = try $0.resolve(conflict, as: resolution) } } == .conflict)
        }
        #expect(try database.read { try $0.digest() } == before)
        let now = try #require(try database.read { try $0.conflict(id("a")) })
        try database.writeBlocking { _ = try $0.resolve(now, as: .delete) }
        #expect(try document(database)?.isDeleted == true)
        #expect(try database.read { try $0.conflictCount } == 0)
    }
}
