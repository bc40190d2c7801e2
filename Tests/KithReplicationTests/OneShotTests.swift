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
            guard count < 4_000 else { return }
            count += 1
            do { try pair.put(count % 2, "later-\(count)", "{}") } catch { Issue.record(error) }
        }
        try pair.run()
        #expect(pair.sessions[0].status.isComplete)
        #expect(pair.sessions[0].ended?.closeCode == 1000)
        #expect(count < 4_000)
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
        // Nothing is kept of the choice, and what the first passed over is not lost to another.
        #expect(try localNames(pair) == [[], []])
        pair.documentIDs = [try DocumentID("mine-a"), try DocumentID("yours-a")]
        try pair.connect()
        try pair.run()
        #expect(try places(pair, "mine-a") == [true, true])
        #expect(try places(pair, "yours-a") == [true, true])
        #expect(try places(pair, "mine-c") == [true, false])
        // And so is everything.
        pair.documentIDs = nil
        try pair.connect()
        try pair.run()
        let digests = try pair.digests()
        #expect(digests[0] == digests[1])
    }

    @Test("a document that is edited between its announcement and its turn is on the other side, as it is then")
    func editedMeanwhile() throws {
        let pair = try once()
        let first = try pair.put(0, "a", "{\"n\":1}")
        try pair.connect()
        func isRead(_ index: Int, _ request: StoreRequest) -> Bool {
            if case .readRevisions = request { return index == 0 }
            return false
        }
        try pair.run(holding: isRead)
        let second = try pair.put(0, "a", "{\"n\":2}", parent: first)
        try pair.run()
        #expect(pair.sessions[0].status.isComplete)
        #expect(try pair.databases[1].leaves("a") == ["\(second)"])
        // The same of a choice, and of what the other side gives.
        for (sender, ids) in [(0, ["b"]), (1, ["c"]), (1, [])] {
            let id = ids.first ?? "d"
            let first = try pair.put(sender, id, "{\"n\":1}")
            pair.documentIDs = ids.isEmpty ? nil : Set(try ids.map { try DocumentID($0) })
            try pair.connect()
            try pair.run { index, request in
                if case .readRevisions = request { return index == sender }
                return false
            }
            let second = try pair.put(sender, id, "{\"n\":2}", parent: first)
            try pair.run()
            #expect(pair.sessions[0].status.isComplete)
            #expect(try pair.databases[1 - sender].leaves(id) == ["\(second)"])
        }
    }

    @Test("a document that is edited before it is looked at does not slip behind the end")
    func movedMeanwhile() throws {
        var limits = ReplicationLimits()
        limits.changesPerListMax = 1
        let pair = try once()
        let first = try pair.put(0, "a", "{\"n\":1}")
        for id in ["b", "c"] { try pair.put(0, id, "{}") }
        try pair.connect(limits: limits)
        try pair.run { index, request in
            if case .readChanges = request { return index == 0 }
            return false
        }
        let second = try pair.put(0, "a", "{\"n\":2}", parent: first)
        try pair.run()
        #expect(pair.sessions[0].status.isComplete)
        #expect(try pair.databases[1].leaves("a") == ["\(second)"])
    }

    @Test("what just came from the other side is not left to be sent to it")
    func echoes() throws {
        let pair = try once()
        for number in 0..<450 { try pair.put(1, "theirs-\(number)", "{}") }
        for number in 0..<30 { try pair.put(0, "ours-\(number)", "{}") }
        try pair.connect()
        try pair.run()
        for (session, database) in zip(pair.sessions, pair.databases) {
            #expect(session.status.sentThrough[.default] == (try database.read { try $0.lastSequence }))
            let kept = try #require(try database.read { try $0.localDocument("progress/other") })
            #expect(PeerProgress(parsing: kept)?.sentThrough == session.status.sentThrough[.default])
        }
        // What is written here meanwhile is not taken for such.
        let later = try once()
        for number in 0..<50 { try later.put(1, "theirs-\(number)", "{}") }
        try later.connect()
        var isWritten = false
        later.onMove = {
            guard !isWritten, later.sessions[0].status.revisionsReceived > 0 else { return }
            isWritten = true
            do { try later.put(0, "ours", "{}") } catch { Issue.record(error) }
        }
        try later.run()
        #expect(later.sessions[0].status.isComplete)
        try later.connect()
        try later.run()
        #expect(try places(later, "ours") == [true, true])
    }

    @Test("a peer without room for the checkpoint ends neither this link nor the pair's")
    func noRoom() throws {
        var limits = ReplicationLimits()
        limits.checkpointsMax = 0
        for isContinuous in [false, true] {
            let pair = try once()
            pair.isContinuous = isContinuous
            try pair.put(0, "a", "{}")
            try pair.put(1, "b", "{}")
            try pair.connect(limits: limits)
            try pair.run()
            try pair.pass(seconds: 60)
            #expect(pair.sessions[0].ended?.closeCode == (isContinuous ? nil : 1000))
            #expect(try places(pair, "a") + places(pair, "b") == [true, true, true, true])
        }
    }

    @Test("one way says nothing of how far the other is, nor that both are in sync")
    func progress() throws {
        let pair = try SessionPair(directions: [.receive, .both])
        pair.isContinuous = false
        pair.pairDirections = .both
        try pair.put(1, "b", "{}")
        func progress(_ index: Int) throws -> PeerProgress? {
            try pair.databases[index].read { try $0.localDocument("progress/other") }.flatMap(
                PeerProgress.init(parsing:))
        }
        try pair.connect()
        try pair.run()
        #expect(pair.sessions[0].status.isComplete)
        #expect(pair.sessions.allSatisfy { !$0.isPairInSync })
        #expect(try progress(0) == nil)
        #expect(try progress(1) == PeerProgress(sentThrough: 1, lastInSyncWallSeconds: nil))
        try pair.put(0, "a", "{}")
        pair.directions = [.send, .both]
        try pair.connect()
        try pair.run()
        #expect(try progress(0)?.sentThrough == 2)
        #expect(try progress(0)?.lastInSyncWallSeconds == nil)
        pair.directions = [.both, .both]
        try pair.connect()
        try pair.run()
        #expect(pair.sessions.allSatisfy { $0.isPairInSync })
    }

    /// The checkpoints and notes that each side has kept.
    private func localNames(_ pair: SessionPair) throws -> [[String]] {
        try pair.databases.map { database in
            try database.read { snapshot in
                try ["own/cp-0-1", "checkpoint/cp-0-1", "progress/other"].filter {
                    try snapshot.localDocument($0) != nil
                }
            }
        }
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
