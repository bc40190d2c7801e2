import KithDocuments
import KithStore
import Testing

@Suite("Store: the list of changes")
struct ChangesTests {
    let database: Database

    /// Sequences: a 1, b 4 (two leaves), c 6 (three leaves, one of them a tombstone), d 7 (deleted).
    init() throws {
        database = try memoryDatabase()
        let revisions = [
            try incoming("a", ["1-aa"]), try incoming("b", ["1-aa"]), try incoming("c", ["2-aa", "1-11"]),
            try incoming("b", ["1-bb"]), try incoming("c", ["2-bb", "1-11"]),
            try incoming("c", ["2-cc", "1-11"], deleted: true), try incoming("d", ["1-dd"], deleted: true),
        ]
        for revision in revisions { try database.writeBlocking { _ = try $0.insert(revision) } }
    }

    private func list(_ query: ChangesQuery) throws -> [String] {
        try database.read { try $0.changes(query) }.map { "\($0.sequence) \($0.id)" }
    }

    @Test("ascending and descending, with since and limit in either order")
    func order() throws {
        #expect(try list(ChangesQuery()) == ["1 a", "4 b", "6 c", "7 d"])
        #expect(try list(ChangesQuery(since: 1, limit: 2)) == ["4 b", "6 c"])
        #expect(try list(ChangesQuery(isDescending: true)) == ["7 d", "6 c", "4 b", "1 a"])
        #expect(try list(ChangesQuery(since: 1, limit: 2, isDescending: true)) == ["7 d", "6 c"])
        #expect(try list(ChangesQuery(since: 4, isDescending: true)) == ["7 d", "6 c"])
        #expect(try list(ChangesQuery(since: 7)) == [])
        #expect(try list(ChangesQuery(since: .max)) == [])
        #expect(try list(ChangesQuery(limit: 0)) == [])
        #expect(try list(ChangesQuery(limit: -1)) == [])
    }

    @Test("all leaves, or the winner only; bodies of what is listed")
    func styleAndBodies() throws {
        func leaves(_ style: ChangesQuery.Style) throws -> [[String]] {
            try database.read { try $0.changes(ChangesQuery(style: style)) }.map {
                $0.leaves.map { "\($0.revision)\($0.isDeleted ? " deleted" : "")" }
            }
        }
        #expect(try leaves(.winners) == [["1-aa"], ["1-bb"], ["2-bb"], ["1-dd deleted"]])
        let all = [["1-aa"], ["1-bb", "1-aa"], ["2-bb", "2-aa", "2-cc deleted"], ["1-dd deleted"]]
        #expect(try leaves(.allLeaves) == all)
        let changes = try database.read { try $0.changes(ChangesQuery(includesBodies: true)) }
        for (change, revisions) in zip(changes, all) {
            #expect(change.bodies.map(text) == revisions.map { $0.count > 4 ? "{}" : #"{"from":"\#($0)"}"# })
        }
        let winners = try database.read { try $0.changes(ChangesQuery(style: .winners, includesBodies: true)) }
        #expect(winners.map(\.bodies.count) == [1, 1, 1, 1])
        #expect(try database.read { try $0.changes(ChangesQuery()) }.allSatisfy(\.bodies.isEmpty))
    }

    @Test("only the documents that are named, each once, in the order of their sequences")
    func documentIDs() throws {
        let ids = try ["d", "none", "b", "a", "b"].map { try id($0) }
        #expect(try list(ChangesQuery(documentIDs: ids)) == ["1 a", "4 b", "7 d"])
        #expect(try list(ChangesQuery(since: 1, documentIDs: ids)) == ["4 b", "7 d"])
        #expect(try list(ChangesQuery(limit: 2, isDescending: true, documentIDs: ids)) == ["7 d", "4 b"])
        #expect(try list(ChangesQuery(documentIDs: [])) == [])
        let query = ChangesQuery(style: .winners, includesBodies: true, documentIDs: ids)
        let bodies = try database.read { try $0.changes(query) }.map { $0.bodies.map(text) }
        #expect(bodies == [[#"{"from":"1-aa"}"#], [#"{"from":"1-bb"}"#], ["{}"]])
    }

    @Test("a list of many pages is whole, in both orders, and stops when the reader says so")
    func pages() throws {
        let database = try memoryDatabase()
        let count = 1_700
        try database.writeBlocking { transaction in
            for number in 0..<count { try transaction.put(id("\(number)"), body: bytes("{}"), parent: nil) }
        }
        try database.read { (snapshot) throws in
            var seen: [UInt64] = []
            try snapshot.forEachChange(ChangesQuery()) { change in
                seen.append(change.sequence)
                // The snapshot can be used meanwhile, also for the same question.
                let count = try snapshot.changes(since: 0, limit: 3).count
                #expect(count == 3)
                return true
            }
            #expect(seen == Array(1...UInt64(count)))
            let backwards = try snapshot.changes(ChangesQuery(isDescending: true)).map(\.sequence)
            #expect(backwards == seen.reversed())
            let ids = try (0..<count).map { try id("\($0)") }
            let listed = try snapshot.changes(ChangesQuery(documentIDs: ids)).map(\.sequence)
            #expect(listed == seen)
            var stopped = 0
            try snapshot.forEachChange(ChangesQuery(limit: 1_500)) { _ in
                stopped += 1
                return stopped < 1_200
            }
            #expect(stopped == 1_200)
            let limited = try snapshot.changes(ChangesQuery(limit: 1_500)).count
            #expect(limited == 1_500)
        }
    }

    @Test("large bodies come in pages as well, and none is missing")
    func largeBodies() throws {
        let database = try memoryDatabase()
        let body = #"{"text":"\#(String(repeating: "x", count: 300_000))"}"#
        try database.writeBlocking { transaction in
            for number in 0..<12 { try transaction.put(id("\(number)"), body: bytes(body), parent: nil) }
        }
        for ids in [nil, try (0..<12).map { try id("\($0)") }] {
            let query = ChangesQuery(includesBodies: true, documentIDs: ids)
            let sizes = try database.read { try $0.changes(query) }.map { $0.bodies[0].count }
            #expect(sizes == Array(repeating: body.utf8.count, count: 12))
        }
    }

    @Test("a transaction that writes while it lists ends with what was there when it began")
    func writing() throws {
        let seen = try database.writeBlocking { transaction in
            var seen: [String] = []
            try transaction.forEachChange(ChangesQuery()) { change in
                seen.append(change.id.text)
                try transaction.put(change.id, body: bytes("{}"), parent: change.winner.revision)
                return true
            }
            return seen
        }
        #expect(seen == ["a", "b", "c", "d"])
        #expect(try database.read { try $0.changes(since: 7, limit: 9) }.count == 4)
        #expect(try database.findFaults() == [])
    }
}
