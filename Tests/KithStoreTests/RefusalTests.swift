import KithDocuments
import KithStore
import Testing

@Suite("Store: what was refused")
struct RefusalTests {
    private func refusal(
        _ id: String, _ revision: String, peer: String = "laptop", isOutgoing: Bool = true, seconds: Int64 = 5,
        in collection: CollectionName = .default
    ) -> DocumentRefusal {
        DocumentRefusal(
            key: DocumentRefusal.Key(peer: peer, collection: collection, id: id, isOutgoing: isOutgoing),
            revision: revision, isByPeer: isOutgoing, code: 413, reason: "“large”", wallSeconds: seconds)
    }

    private func note(_ database: Database, _ refusals: DocumentRefusal...) throws {
        try database.writeBlocking { try $0.noteRefusals(refusals) }
    }

    @Test("the last of each document is kept over a restart, and one that comes again is counted")
    func kept() throws {
        let folder = TemporaryFolder()
        do {
            let database = try fileDatabase(folder)
            try note(database, refusal("a", "1-a"), refusal("b", "1-b", isOutgoing: false), refusal("", "?"))
            try note(database, refusal("a", "1-a", seconds: 7), refusal("a", "1-a", peer: "phone"))
            database.close()
        }
        let database = try fileDatabase(folder, create: false)
        var again = refusal("a", "1-a", seconds: 7)
        again.attempts = 2
        #expect(
            try database.read { try $0.refusals(limit: 9) } == [
                refusal("a", "1-a", peer: "phone"), again, refusal("", "?"), refusal("b", "1-b", isOutgoing: false),
            ])
        #expect(try database.read { try $0.refusals(peer: "phone", limit: 9).count } == 1)
        #expect(try database.read { try $0.refusals(id: "a", limit: 9).count } == 2)
        #expect(try database.read { try $0.refusals(limit: 1) } == [refusal("a", "1-a", peer: "phone")])
        // Another revision begins anew.
        try note(database, refusal("a", "2-a"))
        #expect(try database.read { try $0.refusals(peer: "laptop", id: "a", limit: 9) } == [refusal("a", "2-a")])
        try database.writeBlocking {
            try $0.forgetRefusals([refusal("b", "any", isOutgoing: false).key])
            try $0.forgetRefusals(ofPeer: "phone")
        }
        #expect(try database.read { try $0.refusals(limit: 9).map(\.key.id) } == ["a", ""])
        #expect(try database.read { try $0.lastSequence } == 0)
        #expect(try database.findFaults() == [])
    }

    @Test("there is a most, beyond which the oldest go")
    func bound() throws {
        let database = try memoryDatabase()
        for part in 0..<3 {
            try database.writeBlocking { transaction in
                try transaction.noteRefusals((0..<4_000).map { refusal("\(part)-\($0)", "1-a") })
            }
        }
        let kept = try database.read { try $0.refusals(limit: .max) }
        #expect(kept.count == StoreLimits.refusalsMax)
        #expect(kept.first?.key.id == "2-3999")
        #expect(kept.last?.key.id == "0-2000")
    }

    @Test("it is known which are about nothing any more")
    func obsolete() throws {
        let database = try memoryDatabase()
        let notes = try CollectionName("notes")
        try database.writeBlocking { transaction in
            try transaction.insert(incoming("a", ["2-b", "1-a"]))
            try transaction.insert(incoming("a", ["2-c", "1-a"]))
        }
        let cases = [
            (refusal("a", "2-b"), false), (refusal("a", "2-c"), false), (refusal("a", "1-a"), true),
            (refusal("a", "9-x"), true), (refusal("gone", "1-a"), true), (refusal("bad", "?"), false),
            (refusal("a", "2-b", isOutgoing: false), true), (refusal("a", "1-a", isOutgoing: false), true),
            (refusal("a", "3-x", isOutgoing: false), false), (refusal("new", "1-a", isOutgoing: false), false),
            (refusal("_bad", "1-a", isOutgoing: false), false), (refusal("a", "2-b", in: notes), true),
        ]
        for (refusal, isObsolete) in cases {
            let found = try database.read { try $0.obsolete([refusal]) }
            #expect(found == (isObsolete ? [refusal.key] : []), "\(refusal)")
        }
    }

    @Test("a copy of a database, which peers know nothing of, begins without")
    func restored() async throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder)
        try note(database, refusal("a", "1-a"))
        try await database.backup(to: folder.file("backup"))
        try await Database.restore(from: folder.file("backup"), to: folder.file("new"), name: DatabaseName("new"))
        let restored = try Database(path: folder.file("new"), name: DatabaseName("new"), create: false)
        #expect(try restored.read { try $0.refusals(limit: 9) } == [])
        #expect(try database.read { try $0.refusals(limit: 9).count } == 1)
    }
}
