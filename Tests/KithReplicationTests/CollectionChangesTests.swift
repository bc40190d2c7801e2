import KithDocuments
import KithReplication
import KithStore
import KithWire
import Testing

@Suite("Collections that come and go while nodes are linked")
struct CollectionChangesTests {
    private let database: Database
    private let visits: CollectionName

    init() throws {
        database = try SessionPair.database()
        visits = try CollectionName("visits")
    }

    private func put(_ id: String, in collection: CollectionName) throws {
        let id = try DocumentID(id)
        try database.writeBlocking { transaction in
            try transaction.createCollection(collection)
            _ = try transaction.collection(collection).put(id, body: Array("{}".utf8), parent: nil)
        }
    }

    private func drop(_ collection: CollectionName) throws {
        try database.writeBlocking { try $0.dropCollection(collection) }
    }

    /// The body of a request that opens collections.
    private func list(_ names: String...) -> String {
        func list(_ texts: [String]) -> String { "[" + texts.map { "\"\($0)\"" }.joined(separator: ",") + "]" }
        return "{\"checkpoint_ids\":\(list(names.map { _ in "cp" })),\"collections\":\(list(names))}"
    }

    /// Wants nothing and has every collection.
    private func answer(_ request: BLIPMessage) -> (properties: [String: String], body: [UInt8])? {
        let value = try? JSONValue(parsing: request.body)
        switch request.properties["Profile"] {
        case "getCollections":
            let count = value?["collections"]?.arrayValue?.count ?? 0
            return ([:], Array("[\(Array(repeating: "{}", count: count).joined(separator: ","))]".utf8))
        case "changes": return ([:], Array("[]".utf8))
        default: return ([:], [])
        }
    }

    /// A node that this one has dialled and is in sync with.
    private func dialled() throws -> Stranger {
        let peer = try Stranger(database, role: .active, peerIsKith: true)
        peer.answer = answer
        try peer.run()
        try sayAll(peer, place: 0)
        #expect(peer.session.status.state == .idle)
        return peer
    }

    /// A node that has dialled this one and is in sync with it.
    private func dialling() throws -> Stranger {
        let peer = try Stranger(database, peerIsKith: true)
        peer.answer = answer
        #expect(try peer.ask("getCollections", [:], list("_default"))?.text == "[{}]")
        try subscribe(peer, place: 0)
        #expect(peer.session.status.state == .idle)
        return peer
    }

    private func subscribe(_ peer: Stranger, place: Int) throws {
        let answer = try peer.ask("subChanges", ["collection": String(place), "continuous": "true"])
        #expect(answer?.kind == .response)
        try sayAll(peer, place: place)
    }

    /// Says that the peer has nothing more in a collection.
    private func sayAll(_ peer: Stranger, place: Int) throws {
        try peer.ask("changes", ["collection": String(place)], "[]", isNoReply: true)
    }

    private func told(_ peer: Stranger) -> [String] { peer.takeRequests("kith-collections").map(\.text) }

    private func opened(_ peer: Stranger) throws -> [[String]] {
        try peer.takeRequests("getCollections").map { request in
            let names = try JSONValue(parsing: request.body)["collections"]?.arrayValue ?? []
            return names.compactMap(\.stringValue)
        }
    }

    @Test("this node is not in sync while a collection that it told of is not opened")
    func toldOf() throws {
        let peer = try dialling()
        try put("a", in: visits)
        try peer.noteChange()
        #expect(told(peer) == [#"["visits"]"#])
        #expect(peer.session.status.state == .busy)
        #expect(peer.session.status.toSend == nil)
        #expect(try peer.ask("getCollections", [:], list("visits"))?.text == "[{}]")
        #expect(peer.session.status.state == .busy)
        try subscribe(peer, place: 1)
        #expect(peer.session.status.state == .idle)
        #expect(peer.session.status.toSend == 0)
    }

    @Test("this node is not in sync while it makes and opens a collection that the peer named")
    func named() throws {
        let peer = try dialled()
        var steps = 0
        peer.store = { request in
            switch request {
            case .createCollections, .openCollections:
                steps += 1
                #expect(peer.session.status.state == .busy)
                #expect(peer.session.status.toSend == nil)
            default: break
            }
            return nil
        }
        // Named twice at once, it is made once.
        let name = Array(#"["visits"]"#.utf8)
        for tag in [1, 2] as [UInt64] {
            peer.send(["Profile": "kith-collections"], name, isNoReply: true, tag: tag)
        }
        try peer.run()
        #expect(steps == 2)
        #expect(try opened(peer) == [["_default"], ["visits"]])
        #expect(peer.session.status.state == .busy)
        try sayAll(peer, place: 1)
        #expect(peer.session.status.state == .idle)
        #expect(peer.session.status.toSend == 0)
    }

    @Test("a collection that was dropped before the peer is told is not named, and is when it is made anew")
    func droppedBeforeTold() throws {
        let peer = try dialling()
        try put("a", in: visits)
        var drops = 0
        peer.store = { request in
            guard case .listCollections = request, drops == 0 else { return nil }
            drops += 1
            try drop(visits)
            return nil
        }
        try peer.noteChange()
        #expect(drops == 1)
        #expect(told(peer).isEmpty)
        #expect(peer.session.status.state == .idle)
        #expect(peer.session.status.toSend == 0)
        try put("b", in: visits)
        try peer.noteChange()
        #expect(told(peer) == [#"["visits"]"#])
    }

    @Test("a collection that was dropped before it was opened is opened when it is made anew")
    func droppedBeforeOpened() throws {
        let peer = try dialled()
        try put("a", in: visits)
        var drops = 0
        peer.store = { request in
            guard case .openCollections = request, drops == 0 else { return nil }
            drops += 1
            try drop(visits)
            return nil
        }
        try peer.noteChange()
        #expect(drops == 1)
        #expect(peer.session.status.state == .idle)
        try put("b", in: visits)
        try peer.noteChange()
        #expect(try opened(peer) == [["_default"], ["visits"]])
    }

    @Test("a collection that the peer could not make is opened once more when the peer names it, and not before")
    func madeLater() throws {
        try put("a", in: visits)
        let peer = try Stranger(database, role: .active, peerIsKith: true)
        peer.answer = { request in
            guard request.properties["Profile"] == "getCollections" else { return answer(request) }
            return ([:], Array((request.text.contains("_default") ? "[{},null]" : "[{}]").utf8))
        }
        try peer.run()
        try sayAll(peer, place: 0)
        #expect(peer.session.takeRefusals().map(\.collection) == [visits])
        #expect(peer.session.status.state == .idle)
        try put("b", in: visits)
        try peer.noteChange()
        #expect(try opened(peer) == [["_default", "visits"]])
        try peer.ask("kith-collections", [:], #"["visits"]"#, isNoReply: true)
        #expect(try opened(peer) == [["visits"]])
        #expect(peer.takeRequests("changes").contains { $0.properties["collection"] == "2" && $0.text.contains("b") })
    }

    @Test("a node opens collections with one request after the other")
    func oneAtATime() throws {
        let peer = try Stranger(database, peerIsKith: true)
        for tag in [1, 2] as [UInt64] {
            peer.send(["Profile": "getCollections"], Array(list("_default").utf8), tag: tag)
        }
        try peer.run()
        #expect(peer.replies[1]?.text == "[{}]")
        #expect(peer.replies[2]?.errorName == "HTTP/400")
        #expect(try peer.ask("getCollections", [:], list("visits"))?.text == "[{}]")
        #expect(peer.session.ended == nil)
    }

    @Test("a collection that cannot be made now ends the link until later, one that never can is left out")
    func cannotBeMade() throws {
        for (code, ends) in [(ErrorCode.diskFull, true), (.tooLarge, false)] {
            let peer = try Stranger(database, peerIsKith: true)
            peer.store = { request in
                guard case .createCollections = request else { return nil }
                return .failed(KithError(code, "it cannot be made"))
            }
            let answer = try peer.ask("getCollections", [:], list("_default", "visits"))
            #expect(answer?.text == (ends ? nil : "[{},null]"))
            #expect(peer.session.ended?.closeCode == (ends ? 4001 : nil))
        }
    }

    @Test("when the peer's checkpoint has gone with its documents, the next link sends them again")
    func madeAnew() throws {
        let pair = try SessionPair()
        for number in 0..<20 { try pair.put(0, "d-\(number)", "{}", in: visits) }
        try pair.run()
        try pair.pass(seconds: 10)
        #expect(try pair.databases[0].read { try $0.collection(visits).localDocument("own/cp-0-1") } != nil)
        try pair.databases[1].writeBlocking { [visits] transaction in
            try transaction.dropCollection(visits)
            try transaction.createCollection(visits)
        }
        try pair.put(0, "last", "{}", in: visits)
        try pair.run()
        try pair.pass(seconds: 10)
        #expect(pair.sessions[0].ended?.closeCode == 4001)
        try pair.connect()
        try pair.run()
        let digests = try pair.databases.map { try $0.read { try $0.collection(visits).digest() } }
        #expect(digests.map(\.documents) == [21, 21])
        #expect(digests[0] == digests[1])
    }

    @Test("a collection that is dropped while linked ends the link for now, and the next one brings it back")
    func droppedHere() throws {
        for index in 0..<2 {
            let pair = try SessionPair()
            for number in 0..<20 { try pair.put(0, "d-\(number)", "{}", in: visits) }
            try pair.run()
            try pair.databases[index].writeBlocking { [visits] in try $0.dropCollection(visits) }
            try pair.put(1 - index, "last", "{}", in: visits)
            try pair.run()
            #expect(pair.sessions[index].ended?.closeCode == 4001)
            try pair.connect()
            try pair.run()
            let digests = try pair.databases.map { try $0.read { try $0.collection(visits).digest() } }
            #expect(digests.map(\.documents) == [21, 21])
            #expect(digests[0] == digests[1])
        }
    }
}
