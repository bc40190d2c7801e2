import KithDocuments
import KithStore
import Testing

@Suite("Store: collections")
struct CollectionTests {
    private let orders: CollectionName
    private let stock: CollectionName

    init() throws {
        orders = try CollectionName("shop.orders")
        stock = try CollectionName("stock")
    }

    private func put(_ database: Database, _ collection: CollectionName, _ name: String, _ body: String = "{}") throws {
        _ = try database.writeBlocking {
            try $0.collection(collection).put(id(name), body: bytes(body), parent: nil)
        }
    }

    @Test("each has its own documents, sequences, conflicts and local documents")
    func isSeparate() throws {
        let database = try memoryDatabase()
        try database.writeBlocking { [orders, stock] in
            try $0.createCollection(orders)
            try $0.createCollection(stock)
        }
        try put(database, .default, "a", #"{"in":"default"}"#)
        try put(database, orders, "a", #"{"in":"orders"}"#)
        try put(database, orders, "b")
        try database.writeBlocking { [orders] in
            try $0.collection(orders).setLocalDocument("note", bytes("1"))
            try $0.collection(orders).insert(incoming("a", ["1-ff"]))
        }
        try database.read { (snapshot) throws in
            let names = try snapshot.collections()
            #expect(names == [.default, orders, stock])
            let document = try #require(try snapshot.document(id("a")))
            #expect(text(document.body) == #"{"in":"default"}"#)
            #expect(try snapshot.collection(orders).document(id("a"))?.leaves.count == 2)
            #expect(try snapshot.collection(stock).document(id("a")) == nil)
            #expect(try snapshot.lastSequence == 1)
            #expect(try snapshot.collection(orders).lastSequence == 3)
            #expect(try snapshot.collection(stock).lastSequence == 0)
            #expect(try snapshot.conflictCount == 0)
            #expect(try snapshot.collection(orders).conflictCount == 1)
            #expect(try snapshot.localDocument("note") == nil)
            #expect(try snapshot.collection(orders).localDocument("note") == bytes("1"))
            // The default collection of a view is that of the database.
            #expect(try snapshot.collection(orders).collection(.default).documentCount == 1)
        }
        #expect(try database.findFaults() == [])
    }

    @Test("one transaction writes to several, and undoes all of them")
    func isOneTransaction() throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder)
        try database.writeBlocking { [orders] in try $0.createCollection(orders) }
        #expect(throws: KithError.self) {
            try database.writeBlocking { [orders, stock] transaction in
                try transaction.put(id("a"), body: bytes("{}"), parent: nil)
                try transaction.collection(orders).put(id("a"), body: bytes("{}"), parent: nil)
                try transaction.createCollection(stock)
                try transaction.collection(stock).put(id("a"), body: bytes("{}"), parent: nil)
                throw KithError(.conflict, "on purpose")
            }
        }
        try database.read { (snapshot) throws in
            #expect(try snapshot.documentCount == 0)
            #expect(try snapshot.collection(orders).documentCount == 0)
            #expect(try !snapshot.hasCollection(stock))
        }
        try put(database, orders, "b")
        // The sequence that the undone body has seen is not given again.
        let found = try database.read { try $0.collection(orders).lastSequence }
        #expect(found == 2)
        database.close()
        let again = try fileDatabase(folder, create: false)
        #expect(try again.read { try $0.collection(orders).documentCount } == 1)
        #expect(try again.findFaults() == [])
    }

    @Test("one that is dropped is gone with its documents, and comes back empty")
    func isDropped() throws {
        let database = try memoryDatabase()
        try database.writeBlocking { [orders] in try $0.createCollection(orders) }
        try put(database, orders, "a")
        try database.writeBlocking { [orders] transaction in
            try transaction.collection(orders).put(id("b"), body: bytes("{}"), parent: nil)
            try transaction.dropCollection(orders)
            #expect(throws: KithError.self) { try transaction.collection(orders) }
        }
        #expect(throws: KithError.self) { try database.read { _ = try $0.collection(orders) } }
        try database.writeBlocking { [orders] in
            try $0.createCollection(orders)
            try $0.createCollection(orders)
        }
        let found = try database.read { try $0.collection(orders).documentCount }
        #expect(found == 0)
        #expect(throws: KithError.self) { try database.writeBlocking { try $0.dropCollection(.default) } }
        #expect(try database.findFaults() == [])
    }

    @Test("observers hear of their own collection only")
    func observersAreSeparate() throws {
        let database = try memoryDatabase()
        try database.writeBlocking { [orders] in try $0.createCollection(orders) }
        let heard = Shared<[String]>([])
        let first = database.observe { sequence in heard.withLock { $0.append("default \(sequence)") } }
        let second = database.observe(orders) { sequence in heard.withLock { $0.append("orders \(sequence)") } }
        try put(database, orders, "a")
        try put(database, .default, "a")
        try put(database, orders, "b")
        #expect(heard.withLock { $0 } == ["orders 1", "default 1", "orders 2"])
        first.cancel()
        second.cancel()
    }

    @Test("who observes all collections hears of each commit once, and of collections that are made later")
    func observerOfAll() throws {
        let database = try memoryDatabase()
        let heard = Shared<[[CollectionName: UInt64]]>([])
        let observation = database.observeCollections { sequences in heard.withLock { $0.append(sequences) } }
        try put(database, .default, "a")
        try database.writeBlocking { [orders] in
            try $0.createCollection(orders)
            try $0.put(DocumentID("b"), body: bytes("{}"), parent: nil)
            try $0.collection(orders).put(DocumentID("b"), body: bytes("{}"), parent: nil)
        }
        try put(database, orders, "c")
        #expect(heard.withLock { $0 } == [[.default: 1], [.default: 2, orders: 1], [orders: 2]])
        observation.cancel()
        try put(database, orders, "d")
        #expect(heard.withLock { $0.count } == 3)
    }

    @Test(
        "a proposal is acceptable, known, or a conflict with the winner; and so is what is stored with that condition")
    func proposals() throws {
        let database = try memoryDatabase()
        func incoming(_ id: String, _ revision: String, _ history: [String], isDeleted: Bool = false) throws
            -> IncomingRevision
        {
            IncomingRevision(
                id: try DocumentID(id), revision: try RevisionID(parsing: revision),
                history: try history.map { try RevisionID(parsing: $0) }, isDeleted: isDeleted, body: bytes("{}"),
                refusesConflict: true)
        }
        func judge(_ id: String, _ revision: String, _ parent: String?) throws -> ProposalAnswer {
            let proposal = Proposal(
                id: try DocumentID(id), revision: try RevisionID(parsing: revision),
                parent: try parent.map { try RevisionID(parsing: $0) })
            return try database.read { try $0.judge([proposal])[0] }
        }
        let first = try incoming("a", "2-bb", ["1-aa"])
        _ = try database.writeBlocking { try $0.insert(first) }
        let winner = try RevisionID(parsing: "2-bb")
        #expect(try judge("new", "5-aa", "4-aa") == .acceptable)
        #expect(try judge("a", "2-bb", "1-aa") == .known)
        #expect(try judge("a", "1-aa", nil) == .known)
        #expect(try judge("a", "3-cc", "2-bb") == .acceptable)
        #expect(try judge("a", "3-cc", "1-aa") == .conflict(winner: winner))
        #expect(try judge("a", "1-cc", nil) == .conflict(winner: winner))
        for refused in [try incoming("a", "2-cc", ["1-aa"]), try incoming("a", "1-cc", [])] {
            let error = #expect(throws: KithError.self) { () throws in
                try database.writeBlocking { try $0.insert(refused) }
            }
            #expect(error?.code == .conflict)
        }
        let tombstone = try incoming("a", "3-dd", ["2-bb", "1-aa"], isDeleted: true)
        #expect(try database.writeBlocking { try $0.insert(tombstone) } == .inserted(sequence: 2))
        #expect(try database.writeBlocking { try $0.insert(tombstone) } == .alreadyPresent)
        #expect(try judge("a", "1-cc", nil) == .acceptable)
        let anew = try incoming("a", "1-cc", [])
        #expect(try database.writeBlocking { try $0.insert(anew) } == .inserted(sequence: 3))
        #expect(try database.findFaults() == [])
    }

    @Test("more collections than a connection keeps statements for")
    func many() throws {
        let database = try memoryDatabase()
        let names = try (0..<80).map { try CollectionName("c\($0)") }
        try database.writeBlocking { transaction in
            for name in names { try transaction.createCollection(name) }
        }
        for name in names { try put(database, name, "a") }
        try database.read { (snapshot) throws in
            for name in names { #expect(try snapshot.collection(name).documentCount == 1) }
        }
    }

    @Test("the limit of revisions is the database's own")
    func revisionsLimit() throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder)
        try database.writeBlocking { try $0.setSettings(DatabaseSettings(revisionsLimit: 3)) }
        try database.writeBlocking { transaction in
            var parent: RevisionID?
            for number in 0..<10 {
                parent = try transaction.put(id("a"), body: bytes("{\"n\":\(number)}"), parent: parent).revision
            }
        }
        database.close()
        let again = try fileDatabase(folder, create: false)
        try again.read { (snapshot) throws in
            #expect(try snapshot.settings().revisionsLimit == 3)
            let winner = try #require(try snapshot.document(id("a"))).revision
            #expect(winner.generation == 10)
            #expect(try snapshot.history(id("a"), winner)?.count == 2)
        }
        #expect(throws: KithError.self) {
            try again.writeBlocking { try $0.setSettings(DatabaseSettings(revisionsLimit: 0)) }
        }
    }

    @Test(
        "a collection that is made anew goes on with the sequences of the dropped one, and its observers hear of the drop"
    )
    func sequencesAfterDrop() throws {
        let database = try memoryDatabase()
        let heard = Shared<[UInt64]>([])
        let observation = database.observe(orders) { sequence in heard.withLock { $0.append(sequence) } }
        try database.writeBlocking { [orders] in try $0.createCollection(orders) }
        for name in ["a", "b"] { try put(database, orders, name) }
        try database.writeBlocking { [orders] in try $0.dropCollection(orders) }
        try database.writeBlocking { [orders] in try $0.createCollection(orders) }
        try put(database, orders, "c")
        #expect(heard.withLock { $0 } == [1, 2, 3, 4])
        let changes = try database.read { try $0.collection(orders).changes(since: 2, limit: 9).map(\.id.text) }
        #expect(changes == ["c"])
        #expect(try database.findFaults() == [])
        observation.cancel()
    }
}
