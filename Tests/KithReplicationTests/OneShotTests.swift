import KithDocuments
import KithReplication
import KithStore
import Testing

@Suite("Replication once: everything that was there, or certain documents, and then goodbye")
struct OneShotTests {
    private func once(_ directions: ReplicationDirections = .both) throws -> SessionPair {
        let pair = try SessionPair(directions: [directions, .both])
        pair.isContinuous = false
        return pair
    }

    /// Whether a document is on the active and on the passive side.
    private func places(_ pair: SessionPair, _ id: String) throws -> [Bool] {
        try pair.databases.map { try $0.winner(id) != nil }
    }

    @Test("both sides have what was there, the link ends by itself, and the next begins where it ended")
    func everything() throws {
        let pair = try once()
        let tasks = try CollectionName("tasks")
        for number in 0..<300 {
            try pair.put(0, "a-\(number)", "{}")
            try pair.put(1, "b-\(number)", "{}", in: tasks)
        }
        try pair.connect()
        try pair.run()
        let status = pair.sessions[0].status
        #expect(status.isComplete)
        #expect(pair.sessions[0].ended?.closeCode == 1000)
        #expect(pair.sessions[0].ended?.code == .closed)
        #expect(status.revisionsSent == 300)
        #expect(status.revisionsReceived == 300)
        let digests = try pair.digests()
        #expect(digests[0] == digests[1])
        let named = try pair.databases.map { try $0.read { try $0.collection(tasks).digest() } }
        #expect(named[0] == named[1])
        // Nothing is announced again, also not by a link that stays.
        pair.isContinuous = true
        try pair.connect()
        try pair.run()
        #expect(pair.sessions[0].status.state == .idle)
        #expect(pair.frames[0] + pair.frames[1] < 24, "\(pair.frames)")
    }

    @Test("it ends although both sides go on writing")
    func ends() throws {
        let pair = try once()
        for number in 0..<50 { try pair.put(0, "a-\(number)", "{}") }
        try pair.connect()
        var count = 0
        pair.onMove = {
            guard count < 400 else { return }
            count += 1
            do { try pair.put(count % 2, "later-\(count)", "{}") } catch { Issue.record(error) }
        }
        try pair.run()
        #expect(pair.sessions[0].status.isComplete)
        #expect(pair.sessions[0].ended?.closeCode == 1000)
        #expect(count < 400)
    }

    @Test("push alone and pull alone leave the other direction where it is")
    func oneWay() throws {
        let pair = try once(.send)
        try pair.put(0, "a", "{}")
        try pair.put(1, "b", "{}")
        try pair.connect()
        try pair.run()
        #expect(pair.sessions[0].status.isComplete)
        #expect(try places(pair, "a") == [true, true])
        #expect(try places(pair, "b") == [false, true])
        pair.directions = [.receive, .both]
        try pair.connect()
        try pair.run()
        #expect(pair.sessions[0].status.isComplete)
        #expect(try places(pair, "b") == [true, true])
    }

    @Test("only the documents that are asked for travel, and nothing is claimed of the others")
    func certainDocuments() throws {
        let pair = try once()
        for id in ["a", "b", "c"] {
            try pair.put(0, "mine-\(id)", "{}")
            try pair.put(1, "yours-\(id)", "{}")
        }
        pair.documentIDs = [try DocumentID("mine-b"), try DocumentID("yours-c"), try DocumentID("nobody's")]
        pair.checkpointSuffix = "-1"
        try pair.connect()
        try pair.run()
        #expect(pair.sessions[0].status.isComplete)
        #expect(pair.sessions[0].status.revisionsSent == 1)
        #expect(pair.sessions[0].status.revisionsReceived == 1)
        #expect(try places(pair, "mine-b") == [true, true])
        #expect(try places(pair, "yours-c") == [true, true])
        #expect(try places(pair, "mine-a") == [true, false])
        #expect(try places(pair, "yours-a") == [false, true])
        for (session, database) in zip(pair.sessions, pair.databases) {
            #expect(session.status.sentThrough.isEmpty)
            #expect(try database.read { try $0.localDocument("progress/other") } == nil)
        }
        // Another choice has a checkpoint of its own: what the first passed over is not lost to it.
        pair.documentIDs = [try DocumentID("mine-a"), try DocumentID("yours-a")]
        pair.checkpointSuffix = "-2"
        try pair.connect()
        try pair.run()
        #expect(try places(pair, "mine-a") == [true, true])
        #expect(try places(pair, "yours-a") == [true, true])
        #expect(try places(pair, "mine-c") == [true, false])
        // And so is everything.
        pair.documentIDs = nil
        pair.checkpointSuffix = ""
        try pair.connect()
        try pair.run()
        let digests = try pair.digests()
        #expect(digests[0] == digests[1])
    }

    @Test("a document that the peer refuses is counted, and the others travel")
    func refused() throws {
        let pair = try once()
        var limits = ReplicationLimits()
        limits.receivedHistoryMax = 2
        var revision = try pair.put(0, "long", "{}")
        for number in 0..<5 { revision = try pair.put(0, "long", "{\"n\":\(number)}", parent: revision) }
        try pair.put(0, "short", "{}")
        try pair.connect(limits: limits)
        try pair.run()
        #expect(pair.sessions[0].status.isComplete)
        #expect(pair.sessions[0].status.refusals == 1)
        #expect(pair.sessions[0].takeRefusals().map(\.id) == ["long"])
        #expect(try places(pair, "short") == [true, true])
    }
}
