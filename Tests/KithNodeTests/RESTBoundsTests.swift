import KithDocuments
import KithStore
import KithTransport
import Testing

@testable import KithAccess
@testable import KithNode

@Suite("What callers of REST hold and may")
@LoopActor
struct RESTBoundsTests {
    private func user(_ name: String) -> RESTCaller { .user(Principal(name: name, roles: [])) }

    @Test("no caller uses up the room for bodies of others, and a short body always finds some")
    func bodies() throws {
        let budget = RESTBodyBudget()
        let place = ClientPlace(nil)
        let ann = RESTHeldBytes(budget, user("ann"), at: place)
        try ann.take(NodeLimits.callerBodiesBytesMax)
        let more = RESTHeldBytes(budget, user("ann"), at: place)
        #expect(throws: CouchDBError.self, "her share") { try more.take(NodeLimits.uncountedBodyBytesMax + 1) }
        var others: [RESTHeldBytes] = []
        var isFull = false
        for number in 0..<10 where !isFull {
            let other = RESTHeldBytes(budget, user("user \(number)"), at: place)
            others.append(other)
            do { try other.take(NodeLimits.callerBodiesBytesMax) } catch { isFull = true }
        }
        #expect(isFull)
        let login = RESTHeldBytes(budget, .nobody, at: place)
        try login.take(NodeLimits.strangerBodyBytesMax)
        ann.giveAll()
        ann.giveAll()
        try #require(others.last).take(NodeLimits.callerBodiesBytesMax)
        let guest = RESTHeldBytes(RESTBodyBudget(), .guest, at: place)
        #expect(throws: CouchDBError.self, "a guest's share is smaller") {
            try guest.take(NodeLimits.guestBodiesBytesMax + 1)
        }
        let owner = RESTHeldBytes(nil, .owner, at: place)
        try owner.take(NodeLimits.bodiesBytesMax + 1)
    }

    @Test("a body is as long as its request needs")
    func limits() throws {
        func limit(_ method: String, _ path: String, _ caller: RESTCaller, isForEverybody: Bool = false) -> Int {
            var permit = RESTPermit(caller: caller, mayWriteDesignDocuments: false)
            permit.isForEverybody = isForEverybody
            let request = RESTRequest(method: method, path: path.split(separator: "/").map(String.init), query: [:])
            return RESTBodyLimit.bytesMax(request, permit, isStreamed: false)
        }
        let ann = user("ann")
        #expect(limit("POST", "_session", ann, isForEverybody: true) == NodeLimits.strangerBodyBytesMax)
        for method in ["GET", "HEAD", "DELETE", "COPY"] {
            #expect(limit(method, "db/doc", ann) == NodeLimits.strangerBodyBytesMax, "\(method)")
        }
        for path in ["_changes", "_find", "_all_docs", "_revs_diff", "_security"] {
            #expect(limit("POST", "db/" + path, ann) == NodeLimits.questionBodyBytesMax, "\(path)")
        }
        for path in ["db", "db/doc", "db/_bulk_docs", "db/_local/x", "db/_design/x"] {
            #expect(limit("PUT", path, ann) == NodeLimits.networkBodyBytesMax, "\(path)")
        }
        #expect(limit("POST", "db/_find", .ownKey) == NodeLimits.requestBodyBytesMax)
    }

    @Test("what is written for a request whose right was taken back meanwhile is not kept")
    nonisolated func revoked() throws {
        let database = try Database(path: ":memory:", name: DatabaseName("db"), create: true)
        defer { database.close() }
        let revocation = Revocation()
        let id = try DocumentID("late")
        #expect(throws: CouchDBError.self) {
            try database.writeBlocking { transaction in
                try Keyspace.write(revocation, transaction) { transaction in
                    _ = try transaction.put(id, body: Array("{}".utf8), parent: nil)
                    // It is taken back while the transaction is under way.
                    revocation.revoke()
                }
            }
        }
        let kept = try database.read { try $0.document(id) }
        #expect(kept == nil)
    }

    @Test("passwords are hashed one after the other, and no address takes all places")
    func queue() async throws {
        let queue = PasswordQueue()
        let places = NodeLimits.loginsPerAddressMax
        let counter = Counter()
        let tasks = (0..<(places + 3)).map { number in
            Task { () -> String in
                let host = number < places + 2 ? "a" : "b"
                do {
                    return try await queue.run(for: host, work: { counter.isAlone }) ? "alone" : "with others"
                } catch {
                    return "no place for \(host)"
                }
            }
        }
        var outcomes: [String] = []
        for task in tasks { outcomes.append(await task.value) }
        #expect(outcomes.count(where: { $0 == "alone" }) > places, "\(outcomes)")
        #expect(Set(outcomes).isSubset(of: ["alone", "no place for a"]), "\(outcomes)")
    }

    @Test("a file of users that could not be read again is not written")
    func users() throws {
        let home = TemporaryHome()
        let path = home.path + "/users.json"
        let book = try UserBook(path: path, bytesMax: 1_000)
        let password = try PasswordHash(
            password: Array("correct horse".utf8), cost: PasswordHash.Cost(logN: 1, r: 1, p: 1))
        let ann = try User(name: "ann", roles: [], password: password)
        try book.update { list throws(KithError) in try list.put(ann) }
        let roles = (0..<20).map { "role \($0) " + String(repeating: "x", count: 100) }
        let bob = try User(name: "bob", roles: roles, password: password)
        let error = #expect(throws: KithError.self) {
            try book.update { list throws(KithError) in try list.put(bob) }
        }
        #expect(error?.code == .tooLarge)
        #expect(book.users.map(\.name) == ["ann"])
        #expect(try UserBook(path: path, bytesMax: 1_000).users.map(\.name) == ["ann"])
    }
}
