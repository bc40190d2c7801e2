import Glibc
import Kith
import KithDocuments
@testable import KithReplication
import KithStore
import KithTransport
import Testing

@testable import KithNode

@Suite("Replication once, between nodes over loopback TLS")
@LoopActor
struct OneShotNodeTests {
    private typealias Running = NodeTests.Running

    private let name: DatabaseName

    init() throws { name = try DatabaseName("clinic") }

    /// Two nodes that replicate when they are asked to; the second has an address of the first.
    private func pair() async throws -> (Running, Running) {
        let a = try await Running("a")
        let b = try await Running("b", peers: ["127.0.0.1:\(a.node.port)"], trusting: [a.id])
        try a.node.trust(b.id, name: "b")
        try b.node.setSharing(with: a.id) { $0.replication = .manual }
        for node in [a, b] { try await node.node.createDatabase(name) }
        return (a, b)
    }

    private func stop(_ nodes: Running...) async {
        for node in nodes.reversed() { await node.node.stop() }
    }

    @discardableResult
    private func put(_ node: Running, _ id: String, _ body: String = "{}") async throws -> RevisionID {
        let id = try DocumentID(id)
        return try await node.node.database(name).write { try $0.put(id, body: Array(body.utf8), parent: nil).revision }
    }

    private func has(_ node: Running, _ id: String) throws -> Bool {
        try node.node.database(name).read { try $0.document(DocumentID(id)) != nil }
    }

    @Test("what was taken away while it was being dialled does not travel", .timeLimit(.minutes(60)))
    func accessTakenAway() async throws {
        let (a, b) = try await pair()
        try await put(a, "from-a")
        try await put(b, "from-b")
        let replication = try b.node.links.replicateOnce(OneShotRequest(database: name, peer: a.id))
        try b.node.setSharing(with: a.id) { $0.access = .write }
        while replication.result == nil { await replication.changed.wait(secondsMax: 60) }
        #expect(throws: KithError.self) { _ = try replication.result?.get() }
        try await b.node.replicateOnce(OneShotRequest(database: name, peer: a.id))
        #expect(try has(b, "from-a"))
        #expect(try !has(a, "from-b"))
        await stop(a, b)
    }

    @Test(
        "what stood refused is offered again at once, and what remains refused of that which was asked for is counted",
        .timeLimit(.minutes(60)))
    func refusedBefore() async throws {
        let (a, b) = try await pair()
        let revision = try await put(b, "taken now")
        try await b.node.replicateOnce(OneShotRequest(database: name, peer: a.id))
        let slot = try #require(b.node.links.slots(of: a.id).first)
        func refusal(_ id: String, _ revision: String, isOutgoing: Bool) -> ReplicationRefusal {
            ReplicationRefusal(
                collection: .default, id: id, revision: revision, side: .peer, isOutgoing: isOutgoing, code: 500,
                reason: "damaged", wallSeconds: WallClock.seconds)
        }
        b.node.links.noteRefusals(
            slot,
            [
                refusal("taken now", revision.description, isOutgoing: true),
                refusal("never", "1-aa", isOutgoing: false),
                refusal(ReplicationRefusal.wholeCollection, "", isOutgoing: true),
            ], [])
        func once(_ directions: ReplicationDirections = .both, _ ids: [String]? = nil) async throws -> Int {
            let documentIDs = try ids.map { Set(try $0.map { try DocumentID($0) }) }
            return try await b.node.replicateOnce(
                OneShotRequest(database: name, peer: a.id, directions: directions, documentIDs: documentIDs)
            ).refusals
        }
        #expect(try await once() == 1)
        // That a whole collection is not replicated only the pair's own link finds out anew.
        #expect(slot.refusals.keys.map(\.id).sorted() == [ReplicationRefusal.wholeCollection, "never"])
        #expect(try await once(.receive, ["never"]) == 1)
        #expect(try await once(.send) == 0)
        #expect(try await once(.both, ["other"]) == 0)
        await stop(a, b)
    }

    @Test(
        "what came from the peer is not to be sent to it, also where only one direction was asked for",
        .timeLimit(.minutes(60)))
    func oneDirection() async throws {
        let (a, b) = try await pair()
        for node in [a, b] {
            try node.node.setSharing(with: node.id == a.id ? b.id : a.id) { $0.replication = .manual }
        }
        for id in ["x", "y"] { try await put(a, id) }
        try await put(b, "own")
        func explained(_ node: Running, _ id: String) async throws -> DocumentExplanation.State? {
            try await node.node.explain(DocumentID(id), in: name).peers.first?.state
        }
        /// Waits until so many are said to be sent.
        func expect(_ node: Running, _ count: Int) async {
            await node.until { $0.peers.first?.databases.first?.toSend == count }
        }
        let pulled = OneShotRequest(database: name, peer: a.id, directions: .receive)
        try await b.node.replicateOnce(pulled)
        await expect(b, 1)
        #expect(try await explained(b, "x") == .there)
        #expect(try await explained(b, "own") == .waiting)
        // An edit of what was pulled is to be sent, and one of the peer's that comes after it brings nothing new.
        let x = try DocumentID("x")
        try await b.node.database(name).write { transaction in
            let parent = try transaction.document(x)?.revision
            try transaction.put(x, body: Array(#"{"b":1}"#.utf8), parent: parent)
        }
        try await put(a, "z")
        try await b.node.replicateOnce(pulled)
        await expect(b, 2)
        #expect(try await explained(b, "x") == .waiting)
        #expect(try await explained(b, "z") == .there)
        // The side to which something is pushed has it from the peer.
        try await b.node.replicateOnce(OneShotRequest(database: name, peer: a.id, directions: .send))
        await expect(b, 0)
        await expect(a, 0)
        #expect(try await explained(a, "own") == .there)
        #expect(try has(a, "own"))
        await stop(a, b)
    }

    @Test("a filter says nothing of what another one let pass", .timeLimit(.minutes(60)))
    func otherFilter() async throws {
        let (a, b) = try await pair()
        try await put(a, "x")
        try await b.node.replicateOnce(OneShotRequest(database: name, peer: a.id))
        let id = try DocumentID("x")
        func state() async throws -> DocumentExplanation.State? {
            try await a.node.explain(id, in: name).peers.first?.state
        }
        #expect(try await state() == .there)
        try a.node.setPushFilter(of: name, PushFilter(name: "all") { _ in true })
        #expect(try await state() == .unknown)
        await stop(a, b)
    }

    @Test(
        "where no address leads to the peer, the link that it has opened does it, and only what it does is told",
        .timeLimit(.minutes(60)), arguments: [true, false])
    func followed(hasAddress: Bool) async throws {
        // An address at which nobody answers any more.
        let gone = try await Running("gone")
        let port = gone.node.port
        await gone.node.stop()
        let a = try await Running("a", peers: hasAddress ? ["127.0.0.1:\(port)"] : [])
        let b = try await Running("b", peers: ["127.0.0.1:\(a.node.port)"], trusting: [a.id])
        try a.node.trust(b.id, name: "b")
        for node in [a, b] { try await node.node.createDatabase(name) }
        try await put(a, "before")
        await a.until { $0.peers.first?.state == .inSync }
        await b.until { $0.databases.first?.documents == 1 }
        let first = try await a.node.replicateOnce(OneShotRequest(database: name, peer: b.id))
        #expect(first.revisionsSent == 0)
        let link = try #require(a.node.links.slots(of: b.id).first?.link)
        #expect(link.pongCount > 0)
        // What another process has written counts, though the node may not have heard of it yet.
        let other = try Database(path: a.home.databasesPath + "/\(name).kith", name: name, create: false)
        for number in 1...3 {
            let id = try DocumentID("written elsewhere \(number)")
            _ = try other.writeBlocking { try $0.put(id, body: Array("{}".utf8), parent: nil) }
            try await a.node.replicateOnce(OneShotRequest(database: name, peer: b.id))
            #expect(try has(b, id.text))
        }
        other.close()
        await stop(a, b)
    }

    @Test("a database that is there and cannot be opened is not told as missing", .timeLimit(.minutes(60)))
    func notOpened() async throws {
        let (a, b) = try await pair()
        let (home, port) = (a.home, a.node.port)
        await a.node.stop()
        let path = home.databasesPath + "/clinic.kith"
        try #require(rename(path, path + ".away") == 0 && mkdir(path, 0o700) == 0)
        let again = try await Running("a", home: home, port: port)
        await #expect { try await b.node.replicateOnce(OneShotRequest(database: name, peer: a.id)) } throws: {
            ErrorCode.busy ~= $0
        }
        await stop(again, b)
    }
}
