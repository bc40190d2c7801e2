import Glibc
import Kith
import KithDocuments
import KithTransport
import KithStore
import Testing

@testable import KithNode
@testable import KithReplication

@Suite("Nodes in one process, over loopback TLS")
@LoopActor
struct NodeTests {
    /// A node on a home of its own, without discovery.
    @LoopActor
    final class Running {
        let folder = TemporaryHome()
        let home: NodeHome
        let node: Node
        let lines: LineLog

        init(
            _ name: String, peers: [String] = [], trusting: [NodeID] = [], home: NodeHome? = nil,
            port: UInt16? = nil, filters: [DatabaseName: PushFilter] = [:]
        ) async throws {
            self.home = try home ?? NodeHome.create(at: folder.path + "/home", name: name, port: 0)
            for (index, id) in trusting.enumerated() { try self.home.peerBook.add(id, name: "peer-\(index)") }
            let lines = LineLog()
            self.lines = lines
            var options = NodeOptions()
            options.discovers = false
            options.listen = "127.0.0.1"
            options.peers = peers
            if let port { options.port = port }
            options.pushFilters = filters
            options.log = { lines.add($0) }
            node = try await Node.start(home: self.home, options: options)
        }

        var id: NodeID { home.identity.nodeID }

        /// Waits until status shows what is wanted.
        func until(_ condition: @LoopActor (NodeStatus) -> Bool) async {
            while true {
                let version = node.statusVersion
                if condition(await node.status()) { return }
                await node.waitForStatus(after: version)
            }
        }
    }

    private func put(_ node: Running, _ id: String, _ body: String) async throws {
        let database = try node.node.database(DatabaseName("clinic"))
        let id = try DocumentID(id)
        try await database.write { transaction in _ = try transaction.put(id, body: Array(body.utf8), parent: nil) }
    }

    private func digest(_ node: Running) async throws -> DatabaseDigest {
        try node.node.database(DatabaseName("clinic")).read { try $0.digest() }
    }

    @Test("that trust each other replicate a database of the same name, both ways", .timeLimit(.minutes(60)))
    func replicate() async throws {
        let name = try DatabaseName("clinic")
        let a = try await Running("a")
        let b = try await Running("b", peers: ["127.0.0.1:\(a.node.port)"], trusting: [a.id])
        try a.node.trust(b.id, name: "b")
        try await a.node.createDatabase(name)
        try await put(a, "from-a", "{\"n\":1}")
        try await b.node.createDatabase(name)
        try await put(b, "from-b", "{\"n\":2}")
        await a.until { $0.databases.first?.documents == 2 && $0.peers.first?.state == .inSync }
        await b.until { $0.databases.first?.documents == 2 && $0.peers.first?.state == .inSync }
        #expect(try await digest(a) == digest(b))
        await b.node.stop()
        await a.node.stop()
    }

    /// Lets documents pass whose `n` is at most this.
    private func atMost(_ most: Int64) -> PushFilter {
        PushFilter(name: "at most \(most)") { document in
            (try? JSONValue(parsing: document.body))?["n"]?.int64Value.map { $0 <= most } ?? false
        }
    }

    private func count(_ node: Running) throws -> Int {
        try node.node.database(DatabaseName("clinic")).read { try $0.digest().documents }
    }

    @Test(
        "send what the app's filter lets pass, from the first moment on, and look at everything anew with another filter",
        .timeLimit(.minutes(60)))
    func filters() async throws {
        let name = try DatabaseName("clinic")
        let a = try await Running("a", filters: [name: atMost(1)])
        let b = try await Running("b", peers: ["127.0.0.1:\(a.node.port)"], trusting: [a.id])
        try await a.node.createDatabase(name)
        try await b.node.createDatabase(name)
        for number in 1...4 { try await put(a, "d-\(number)", "{\"n\":\(number)}") }
        try await put(b, "from-b", "{\"n\":9}")
        try a.node.trust(b.id, name: "b")
        await a.until { $0.databases.first?.documents == 5 && $0.peers.first?.state == .inSync }
        await b.until { $0.databases.first?.documents == 2 && $0.peers.first?.state == .inSync }
        try a.node.setPushFilter(of: name, to: b.id, atMost(3))
        await b.until { $0.databases.first?.documents == 4 && $0.peers.first?.state == .inSync }
        // Once goes through the same filter.
        let done = try await b.node.replicateOnce(OneShotRequest(database: name, peer: a.id))
        #expect(done.isComplete)
        #expect(done.revisionsReceived == 0)
        #expect(try count(b) == 4)
        let explanation = try await a.node.explain(DocumentID("d-4"), in: name)
        #expect(explanation.peers.map(\.state) == [.notSent])
        try a.node.setPushFilter(of: name, to: b.id, nil)
        try a.node.setPushFilter(of: name, nil)
        await b.until { $0.databases.first?.documents == 5 && $0.peers.first?.state == .inSync }
        #expect(try await digest(a) == digest(b))
        let none = try DatabaseName("none")
        #expect(throws: KithError.self) { try a.node.setPushFilter(of: none, nil) }
        await b.node.stop()
        await a.node.stop()
    }

    @Test("tell of each document that travels or is refused, and how they stand", .timeLimit(.minutes(60)))
    func events() async throws {
        let name = try DatabaseName("clinic")
        let a = try await Running("a")
        let b = try await Running("b", peers: ["127.0.0.1:\(a.node.port)"], trusting: [a.id])
        try await a.node.createDatabase(name)
        try await b.node.createDatabase(name)
        let heard = [a.node.documentEvents(), b.node.documentEvents()].map { $0.makeAsyncIterator() }
        try a.node.trust(b.id, name: "b")
        try await put(a, "from-a", "{\"n\":1}")
        try await put(b, "from-b", "{\"n\":2}")
        for (index, peer) in [b.id, a.id].enumerated() {
            var iterator = heard[index]
            var seen: Set<String> = []
            for _ in 0..<2 {
                guard case .event(let event)? = await iterator.next() else {
                    Issue.record("no event")
                    break
                }
                #expect(event.database == name && event.peer == peer && event.outcome == .travelled)
                #expect(event.error == nil && event.revision.hasPrefix("1-"))
                seen.insert("\(event.id) \(event.isOutgoing)")
            }
            #expect(seen == ["from-a \(index == 0)", "from-b \(index == 1)"])
        }
        // A link that lives tells its refusals in the same way.
        var iterator = heard[0]
        a.node.links.tellRefusals(
            [
                ReplicationRefusal(
                    collection: .default, id: "bad", revision: "1-aa", side: .peer, isOutgoing: true, code: 413,
                    reason: "too large", wallSeconds: 0)
            ], LinkKey(peer: b.id, database: name))
        guard case .event(let refused)? = await iterator.next() else {
            Issue.record("no event")
            return
        }
        #expect(refused.id == "bad" && refused.outcome == .refused && refused.error?.code == .tooLarge)
        for await status in a.node.statusReports {
            guard let database = status.peers.first?.databases.first, database.state == .inSync else { continue }
            #expect(database.toSend == 0 && database.toReceive == 0 && database.lastInSyncAt != nil)
            break
        }
        let node = a.node
        let reports = Task {
            for await _ in node.statusReports {}
            return true
        }
        reports.cancel()
        #expect(await reports.value)
        await b.node.stop()
        await a.node.stop()
        var ended = heard[1]
        while await ended.next() != nil {}
    }

    @Test("replicate once and give it up when the task is cancelled", .timeLimit(.minutes(60)))
    func once() async throws {
        let name = try DatabaseName("clinic")
        let a = try await Running("a")
        let b = try await Running("b", peers: ["127.0.0.1:\(a.node.port)"], trusting: [a.id])
        try a.node.trust(b.id, name: "b")
        try b.node.setSharing(with: a.id) { $0.replication = .manual }
        try await a.node.createDatabase(name)
        try await b.node.createDatabase(name)
        try await put(a, "from-a", "{\"n\":1}")
        try await put(b, "from-b", "{\"n\":2}")
        let sent = try await b.node.replicateOnce(
            OneShotRequest(database: name, peer: a.id, directions: .send))
        #expect(sent.revisionsSent == 1 && sent.revisionsReceived == 0)
        #expect(try count(b) == 1)
        let (node, id) = (b.node, a.id)
        let task = Task { try await node.replicateOnce(OneShotRequest(database: name, peer: id)) }
        task.cancel()
        switch await task.result {
        case .success: break  // It was faster.
        case .failure(let error): #expect((error as? KithError)?.code == .closed)
        }
        try await b.node.replicateOnce(OneShotRequest(database: name, peer: a.id))
        #expect(try await digest(a) == digest(b))
        await #expect(throws: KithError.self) {
            try await b.node.replicateOnce(OneShotRequest(database: DatabaseName("none"), peer: id))
        }
        await b.node.stop()
        await a.node.stop()
    }

    /// A document that was edited on both nodes while they did not trust each other.
    private func conflict(_ nodes: [Running], _ name: DatabaseName) async throws {
        let id = try DocumentID("list")
        for (index, node) in nodes.enumerated() {
            try await node.node.database(name).write { transaction in
                let (first, _) = try transaction.put(id, body: Array(#"{"x":1,"y":1}"#.utf8), parent: nil)
                let body = index == 0 ? #"{"x":2,"y":1}"# : #"{"x":1,"y":2}"#
                _ = try transaction.put(id, body: Array(body.utf8), parent: first)
            }
        }
    }

    @Test("merge conflicts by themselves, both at once, to the same revision", .timeLimit(.minutes(60)))
    func merge() async throws {
        let name = try DatabaseName("clinic")
        let a = try await Running("a")
        let b = try await Running("b", peers: ["127.0.0.1:\(a.node.port)"], trusting: [a.id])
        for node in [a, b] {
            try await node.node.createDatabase(name)
            try await node.node.setSettings(of: name) { $0.mergePolicy = .threeWay }
        }
        try await conflict([a, b], name)
        try a.node.trust(b.id, name: "b")
        for node in [a, b] {
            await node.until { status in
                status.peers.first?.state == .inSync && status.databases.first?.conflicts == 0
                    && status.databases.first?.mergePolicy == .threeWay
            }
        }
        for node in [a, b] {
            let document = try node.node.database(name).read { try $0.document(DocumentID("list")) }
            // A child of 2-…, with a mark in between for the version that was merged.
            #expect(document?.revision.generation == 4)
        }
        #expect(try await digest(a) == digest(b))
        await b.node.stop()
        await a.node.stop()
    }

    @Test(
        "resolve conflicts as the app says, also those that are there, and say which they could not",
        .timeLimit(.minutes(60)))
    func appResolver() async throws {
        struct No: Error {}
        let name = try DatabaseName("clinic")
        let a = try await Running("a")
        let b = try await Running("b", peers: ["127.0.0.1:\(a.node.port)"], trusting: [a.id])
        for node in [a, b] { try await node.node.createDatabase(name) }
        try await conflict([a, b], name)
        try a.node.trust(b.id, name: "b")
        for node in [a, b] {
            await node.until { $0.databases.first?.conflicts == 1 && $0.peers.first?.state == .inSync }
        }
        try await b.node.setConflictResolver(of: name) { _ in throw No() }
        await b.until { _ in true }
        try await a.node.setConflictResolver(of: name) { conflict in
            .merged(body: Array("{\"versions\":\(conflict.versions.count)}".utf8))
        }
        for node in [a, b] {
            await node.until { $0.databases.first?.conflicts == 0 && $0.peers.first?.state == .inSync }
        }
        let document = try b.node.database(name).read { try $0.document(DocumentID("list")) }
        #expect(document.map { String(decoding: $0.body, as: UTF8.self) } == #"{"versions":2}"#)
        #expect(try await digest(a) == digest(b))
        await #expect(throws: KithError.self) {
            try await a.node.setConflictResolver(of: DatabaseName("none"), nil)
        }
        await b.node.stop()
        await a.node.stop()
    }

    @Test("replicate a document with a large attachment", .timeLimit(.minutes(60)))
    func attachment() async throws {
        let name = try DatabaseName("clinic")
        let a = try await Running("a")
        let b = try await Running("b", peers: ["127.0.0.1:\(a.node.port)"], trusting: [a.id])
        try a.node.trust(b.id, name: "b")
        for node in [a, b] { try await node.node.createDatabase(name) }
        // Pieces that are not alike.
        let bytes = (0..<50).flatMap { Array(repeating: UInt8($0), count: 100_000) }
        let digest = try await a.node.database(name).write { transaction in
            let blob = try transaction.addBlob(bytes)
            let scan = try DocumentAttachment(name: "scan", digest: blob.digest, length: blob.length)
            _ = try transaction.put(
                DocumentID("x-ray"), body: Array("{}".utf8), parent: nil, attachments: AttachmentList([scan]))
            return blob.digest
        }
        await b.until { $0.databases.first?.documents == 1 && $0.peers.first?.state == .inSync }
        #expect(try await self.digest(a) == self.digest(b))
        let length = UInt64(bytes.count)
        for offset in stride(from: UInt64(0), to: length, by: 1 << 20) {
            let piece = try b.node.database(name).blobPiece(digest, at: offset, count: 1 << 20)
            #expect(piece == Array(bytes[Int(offset)..<Int(min(length, offset + 1 << 20))]))
        }
        await b.node.stop()
        await a.node.stop()
    }

    @Test("that were not introduced exchange nothing, and say why", .timeLimit(.minutes(60)))
    func strangers() async throws {
        let name = try DatabaseName("clinic")
        let a = try await Running("a")
        let b = try await Running("b", peers: ["127.0.0.1:\(a.node.port)"], trusting: [a.id])
        try await a.node.createDatabase(name)
        try await put(a, "secret", "{}")
        try await b.node.createDatabase(name)
        await b.until { $0.peers.first?.databases.first?.lastError != nil }
        let status = await b.node.status()
        #expect(status.peers.first?.state == .blocked)
        #expect(status.peers.first?.toReceive == nil)
        #expect(status.databases.first?.documents == 0)
        #expect(status.peers.first?.problem == "not_trusted")
        await a.lines.until { $0.contains("refused") }
        await b.node.stop()
        await a.node.stop()
    }

    @Test("no longer trusted is cut off at once", .timeLimit(.minutes(60)))
    func untrust() async throws {
        let name = try DatabaseName("clinic")
        let a = try await Running("a")
        let b = try await Running("b", peers: ["127.0.0.1:\(a.node.port)"], trusting: [a.id])
        try a.node.trust(b.id, name: "b")
        for node in [a, b] { try await node.node.createDatabase(name) }
        await a.until { $0.peers.first?.state == .inSync }
        try a.node.untrust(b.id)
        #expect(await a.node.status().peers.isEmpty)
        await b.until { $0.peers.first?.state == .offline }
        try await put(a, "after", "{}")
        await b.until { $0.peers.first?.problem == "not_trusted" }
        #expect(try await digest(b).documents == 0)
        await b.node.stop()
        await a.node.stop()
    }

    @Test("keep one link for a pair, also when each has the other's address", .timeLimit(.minutes(60)))
    func oneLink() async throws {
        let name = try DatabaseName("clinic")
        let first = try await Running("a")
        let b = try await Running("b", peers: ["127.0.0.1:\(first.node.port)"], trusting: [first.id])
        let home = first.home
        let port = first.node.port
        await first.node.stop()
        var options = NodeOptions()
        options.discovers = false
        options.listen = "127.0.0.1"
        options.port = port
        options.peers = ["127.0.0.1:\(b.node.port)"]
        try home.peerBook.add(b.id, name: "b")
        let a = try await Node.start(home: home, options: options)
        try await a.createDatabase(name)
        try await b.node.createDatabase(name)
        await b.until { $0.peers.first?.state == .inSync }
        // Longer than either side would take to dial.
        try await put(b, "x", "{}")
        await b.until { $0.peers.first?.state == .inSync && $0.peers.first?.toSend == 0 }
        let links = b.node.links.slots(of: home.identity.nodeID).compactMap { $0.link }
        #expect(links.count == 1)
        await b.node.stop()
        await a.stop()
    }

    @Test("on one home: the second is refused and nothing is left of it", .timeLimit(.minutes(60)))
    func secondNode() async throws {
        let a = try await Running("a")
        await #expect { _ = try await Node.start(home: a.home) } throws: { ErrorCode.alreadyRunning ~= $0 }
        await a.node.stop()
        var options = NodeOptions()
        options.discovers = false
        options.listen = "127.0.0.1"
        let again = try await Node.start(home: a.home, options: options)
        await again.stop()
    }

    @Test("whose port is taken say so and free the home", .timeLimit(.minutes(60)))
    func busyPort() async throws {
        let a = try await Running("a")
        let folder = TemporaryHome()
        let home = try NodeHome.create(at: folder.path + "/home", name: "b", port: a.node.port)
        var options = NodeOptions()
        options.discovers = false
        options.listen = "127.0.0.1"
        await #expect { _ = try await Node.start(home: home, options: options) } throws: { ErrorCode.portBusy ~= $0 }
        _ = try home.lock()
        await a.node.stop()
    }

    @Test("a database that cannot be opened for a reason that passes is opened when that has passed")
    func reopening() async throws {
        let name = try DatabaseName("clinic")
        let home: NodeHome
        let folder: TemporaryHome
        do {
            let first = try await Running("a")
            (home, folder) = (first.home, first.folder)
            try await first.node.createDatabase(name)
            try await put(first, "bed:1", "{}")
            await first.node.stop()
        }
        let path = home.databasesPath + "/clinic.kith"
        try #require(rename(path, path + ".away") == 0 && mkdir(path, 0o700) == 0)
        let second = try await Running("a", home: home)
        #expect(await second.node.status().problems.map(\.subject) == ["clinic"])
        #expect(throws: KithError.self) { try second.node.database(name) }
        await second.node.registry.retryFailed()
        #expect(await second.node.status().problems.map(\.subject) == ["clinic"])
        try #require(rmdir(path) == 0 && rename(path + ".away", path) == 0)
        await second.node.registry.retryFailed()
        #expect(try second.node.database(name).read { try $0.documentCount } == 1)
        #expect(await second.node.status().problems.isEmpty)
        await second.node.stop()
        withExtendedLifetime(folder) {}
    }
}
