import KithDocuments
import KithReplication
import KithStore
import KithWire
import Testing

@Suite("Leaves that are superseded elsewhere")
struct SupersessionTests {
    /// A knows that 5 is an ancestor of 30. The laptop B has 5 as its leaf, and C has 30 with a history that ends before 5;
    /// B and C have met.
    private func nodes(isDeleted: Bool, limit: Int = 20) throws -> [Database] {
        let databases = try (0..<3).map { _ in try SessionPair.database() }
        try databases[0].writeBlocking { try $0.setSettings(DatabaseSettings(revisionsLimit: limit)) }
        let id = try DocumentID("stock")
        func write(_ numbers: ClosedRange<Int>, _ parent: RevisionID?) throws -> RevisionID? {
            var parent = parent
            for number in numbers {
                let isLast = isDeleted && number == 30
                parent = try databases[0].writeBlocking { [parent] transaction in
                    try transaction.put(
                        id, body: Array((isLast ? "{}" : "{\"n\":\(number)}").utf8), parent: parent, isDeleted: isLast
                    ).revision
                }
            }
            return parent
        }
        let fifth = try write(1...5, nil)
        try meet(databases, 1, 0)
        _ = try write(6...30, fifth)
        try meet(databases, 2, 0)
        try meet(databases, 1, 2)
        for database in databases[1...] { #expect(try leaves(database) == 2) }
        return databases
    }

    private func leaves(_ database: Database) throws -> Int {
        try database.read { try $0.document(DocumentID("stock"))?.leaves.count ?? 0 }
    }

    private func meet(_ databases: [Database], _ active: Int, _ passive: Int) throws {
        let pair = try SessionPair(databases: [databases[active], databases[passive]], names: (active, passive))
        try pair.run()
        try pair.pass(seconds: 10)
        for session in pair.sessions {
            #expect(session.ended == nil)
            #expect(session.status.state == .idle)
            #expect(session.status.refusals == 0)
            #expect(session.status.toSend == 0)
            #expect(session.status.toReceive == 0)
        }
    }

    @Test(
        "a node that knows better tells it to the others, whoever dials, and they tell each other",
        arguments: [false, true], [0, 1, 2, 3])
    func convergence(isDeleted: Bool, order: Int) throws {
        let databases = try nodes(isDeleted: isDeleted, limit: order == 3 ? 1 : 20)
        // The last meeting has nothing to do with A.
        for (active, passive) in [[(0, 1), (1, 2)], [(1, 0), (2, 1)], [(0, 2), (1, 2)], [(2, 0), (2, 1)]][order] {
            try meet(databases, active, passive)
        }
        let digests = try databases.map { try $0.read { try $0.digest() } }
        #expect(digests[0].leafRevisions == 1)
        #expect(digests[0].deleted == (isDeleted ? 1 : 0))
        #expect(digests[1] == digests[0])
        #expect(digests[2] == digests[0])
        for database in databases { #expect(try database.checkNow().faults.isEmpty) }
    }

    @Test("a link that is lost at any frame of it loses nothing", arguments: [3, 6, 8, 9, 10, 11, 12, 13, 14, 16])
    func cutAnywhere(frames: Int) throws {
        let databases = try nodes(isDeleted: true)
        for (active, passive) in [(1, 0), (2, 1)] {
            let pair = try SessionPair(
                databases: [databases[active], databases[passive]], names: (active, passive))
            try pair.run(stoppingAfterFrames: frames)
            try meet(databases, active, passive)
        }
        for database in databases { #expect(try leaves(database) == 1) }
    }

    @Test("of a document with many leaves each one that the list lacks is asked about once, however many it has")
    func manyLeaves() throws {
        let database = try SessionPair.database()
        let leaves = (0..<300).map { "2-" + String(0x1000 + $0, radix: 16) }
        for leaf in leaves { try database.insert("stock", leaf, history: ["1-aa"]) }
        var limits = ReplicationLimits()
        limits.historyMax = 100
        let node = try Stranger(database, peerIsKith: true, limits: limits)
        let announced = leaves.prefix(150).map { #"[1,"stock","\#($0)"]"# }.joined(separator: ",")
        let answer = try node.ask("changes", [:], "[\(announced)]")
        let items = try JSONValue(parsing: answer?.body ?? []).arrayValue ?? []
        #expect(items.count == 150)
        let asked = items.compactMap { $0.arrayValue?.compactMap(\.stringValue) }
        #expect(asked.map(\.first) == leaves.prefix(2).map { $0 })
        #expect(Set(asked.flatMap { $0.dropFirst() }) == Set(leaves.dropFirst(150)))
        #expect(asked.map(\.count) == [101, 51])
        // Until both are answered the document is open.
        try node.ask("changes", [:], "[]", isNoReply: true)
        for (leaf, expected) in zip(leaves, [1, 0]) {
            try node.ask("norev", ["id": "stock", "rev": leaf, "sequence": "1", "error": "410"], isNoReply: true)
            #expect(node.session.status.toReceive == expected)
        }
    }

    @Test("a peer that is no Kith node is answered as ever")
    func foreignPeer() throws {
        for isKith in [false, true] {
            let stranger = try Stranger(try nodes(isDeleted: false)[0], peerIsKith: isKith)
            let known = try stranger.database.read { snapshot in
                try snapshot.document(DocumentID("stock"))?.revision
            }
            let leaf = try #require(known)
            stranger.send(
                ["Profile": "changes"], Array("[[1,\"stock\",\"\(leaf)\"]]".utf8), tag: 1)
            try stranger.run()
            #expect(stranger.replies[1].map { String(decoding: $0.body, as: UTF8.self) } == "[0]")
            let history = try stranger.database.read { snapshot in
                try snapshot.revisionForTransfer(DocumentID("stock"), leaf)?.history ?? []
            }
            let ancestor = try #require(history.last)
            stranger.send(
                ["Profile": "changes"], Array("[[2,\"stock\",\"\(ancestor)\"]]".utf8), tag: 2)
            try stranger.run()
            #expect(
                stranger.replies[2].map { String(decoding: $0.body, as: UTF8.self) }
                    == (isKith ? "[[\"\(leaf)\",\"\(ancestor)\"]]" : "[0]"))
        }
    }

    @Test("a leaf that its sender learns to be superseded while it is on its way does not stay", arguments: [0, 1])
    func supersededOnItsWay(receiver: Int) throws {
        let pair = try SessionPair()
        let id = try DocumentID("stock")
        let old = try RevisionID(parsing: "5-" + String(repeating: "5", count: 40))
        let new = try RevisionID(parsing: "30-" + String(repeating: "3", count: 40))
        func insert(_ revision: RevisionID, _ index: Int) throws {
            _ = try pair.databases[index].writeBlocking { transaction in
                try transaction.insert(
                    IncomingRevision(id: id, revision: revision, history: [], isDeleted: false, body: Array("{}".utf8)))
            }
        }
        // Neither knows that the one descends from the other.
        try insert(new, receiver)
        try insert(new, 1 - receiver)
        try insert(old, 1 - receiver)
        try pair.connect()
        let holdsInserts = { (index: Int, request: StoreRequest) in
            if case .insert = request { index == receiver } else { false }
        }
        try pair.run(holding: holdsInserts)
        #expect(try leaves(pair.databases[receiver]) == 1)
        // A third node tells the sender.
        let isNew = try pair.databases[1 - receiver].writeBlocking { transaction in
            try transaction.supersede(Supersession(id: id, leaf: new, revision: old))
        }
        #expect(isNew)
        pair.sessions[1 - receiver].databaseChanged(
            lastSequence: try pair.databases[1 - receiver].read { try $0.lastSequence }, now: pair.now)
        try pair.run(holding: holdsInserts)
        try pair.run()
        try pair.pass(seconds: 10)
        for database in pair.databases { #expect(try leaves(database) == 1) }
        #expect(try pair.digests()[0] == pair.digests()[1])
        for session in pair.sessions { #expect(session.status.state == .idle) }
    }
}
