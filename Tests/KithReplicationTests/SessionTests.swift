import KithDocuments
import KithReplication
import KithStore
import KithWire
import Testing

@Suite("Two sessions over a pipe")
struct SessionTests {
    @Test("documents go both ways, and both sides are idle then")
    func bothWays() throws {
        let pair = try SessionPair()
        for number in 0..<450 { try pair.put(0, "a-\(number)", "{\"n\":\(number)}") }
        for number in 0..<30 { try pair.put(1, "b-\(number)", "{\"n\":\(number)}") }
        try pair.run()
        let digests = try pair.digests()
        #expect(digests[0] == digests[1])
        #expect(digests[0].documents == 480)
        for session in pair.sessions {
            #expect(session.status.state == .idle)
            #expect(session.status.toSend == 0)
            #expect(session.status.toReceive == 0)
            #expect(session.ended == nil)
        }
    }

    @Test("conflicting edits converge on one winner, and the losing revision can be read on both sides")
    func conflicts() throws {
        let pair = try SessionPair()
        let first = try pair.put(0, "stock", "{\"count\":1}")
        try pair.run()
        let mine = try pair.put(0, "stock", "{\"count\":2}", parent: first)
        let theirs = try pair.put(1, "stock", "{\"count\":3}", parent: first)
        try pair.run()
        let digests = try pair.digests()
        #expect(digests[0] == digests[1])
        #expect(digests[0].conflicts == 1)
        let id = try DocumentID("stock")
        for database in pair.databases {
            let winner = try database.read { try $0.document(id) }
            #expect(winner?.revision == max(mine, theirs))
            let loser = try database.read { try $0.document(id, revision: min(mine, theirs)) }
            #expect(loser != nil)
        }
    }

    @Test("a deletion travels, and so does coming back to life")
    func deletion() throws {
        let pair = try SessionPair()
        let first = try pair.put(0, "bed-4", "{\"free\":false}")
        try pair.run()
        let gone = try pair.put(1, "bed-4", "{}", parent: first, isDeleted: true)
        try pair.run()
        let id = try DocumentID("bed-4")
        #expect(try pair.databases[0].read { try $0.document(id)?.isDeleted } == true)
        let back = try pair.put(0, "bed-4", "{\"free\":true}")
        #expect(back.generation == gone.generation + 1)
        try pair.run()
        #expect(try pair.databases[1].read { try $0.document(id)?.revision } == back)
        #expect(try pair.digests()[0] == pair.digests()[1])
    }

    @Test("after a lost connection only what is new is sent")
    func resumes() throws {
        let pair = try SessionPair()
        for number in 0..<300 { try pair.put(0, "old-\(number)", "{\"n\":\(number)}") }
        try pair.run()
        try pair.pass(seconds: 10)
        try pair.connect()
        try pair.put(0, "new", "{}")
        try pair.run()
        #expect(pair.sessions[0].status.revisionsSent == 1)
        #expect(pair.frames[0] < 20)
        #expect(try pair.digests()[0] == pair.digests()[1])
    }

    @Test(
        "a connection cut at any frame loses nothing and the next one completes",
        arguments: [1, 2, 3, 5, 8, 13, 21, 60, 200])
    func cutAnywhere(frames: Int) throws {
        let pair = try SessionPair()
        for number in 0..<120 { try pair.put(number % 2, "d-\(number)", "{\"n\":\(number)}") }
        try pair.run(stoppingAfterFrames: frames)
        try pair.connect()
        try pair.run()
        let digests = try pair.digests()
        #expect(digests[0] == digests[1])
        #expect(digests[0].documents == 120)
    }

    @Test("a database that was made anew under the same name gets everything again")
    func recreatedDatabase() throws {
        let pair = try SessionPair()
        for number in 0..<50 { try pair.put(0, "d-\(number)", "{}") }
        try pair.run()
        try pair.pass(seconds: 10)
        let second = try SessionPair(databases: [pair.databases[0], SessionPair.database()])
        try second.run()
        #expect(try second.digests()[0] == second.digests()[1])
        #expect(second.sessions[0].status.revisionsSent == 50)
    }

    @Test("a leaf that is known does not make a checkpoint pass over another leaf of the same change")
    func checkpointWaitsForAllLeaves() throws {
        var generator = SystemRandomNumberGenerator()
        let noise = (0..<20_000).map { _ in String(UInt64.random(in: 0...UInt64.max, using: &generator), radix: 16) }
        for stop in 0..<50 {
            let pair = try SessionPair()
            try pair.put(1, "a", "{}")
            try pair.run()
            // The passive side gets a leaf that the active one knows, and one that takes many frames.
            _ = try pair.databases[1].writeBlocking { transaction in
                let id = try DocumentID("a")
                let other = try RevisionID(parsing: "1-\(String(repeating: "0", count: 40))")
                _ = try transaction.insert(
                    IncomingRevision(
                        id: id, revision: other, history: [], isDeleted: false,
                        body: Array("{\"noise\":\"\(noise.joined())\"}".utf8)))
            }
            try pair.connect()
            try pair.run(stoppingAfterFrames: stop)
            try pair.pass(seconds: 6, stoppingAfterFrames: stop + 4)
            try pair.connect()
            try pair.run()
            let digests = try pair.digests()
            #expect(digests[0] == digests[1], "stopped after \(stop) frames")
            #expect(digests[0].conflicts == 1)
        }
    }

    @Test("a change that no count has seen is not said to be sent")
    func doesNotSayZero() throws {
        let pair = try SessionPair()
        try pair.put(0, "a", "{}")
        try pair.run()
        #expect(pair.sessions[0].status.toSend == 0)
        try pair.put(0, "b", "{}")
        #expect(pair.sessions[0].status.toSend == nil)
        #expect(pair.sessions[0].status.state == .busy)
        try pair.run()
        #expect(pair.sessions[0].status.toSend == 0)
    }

    @Test("a large document among small ones arrives whole")
    func largeDocument() throws {
        let pair = try SessionPair()
        try pair.put(0, "scan", "{\"pixels\":\"" + String(repeating: "0123456789", count: 60_000) + "\"}")
        for number in 0..<20 { try pair.put(0, "small-\(number)", "{}") }
        try pair.run()
        #expect(try pair.digests()[0] == pair.digests()[1])
    }

    @Test("a long offline history keeps its branch: no false conflict")
    func longHistory() throws {
        let pair = try SessionPair()
        var revision = try pair.put(0, "log", "{\"n\":0}")
        try pair.run()
        try pair.pass(seconds: 10)
        for number in 1...200 { revision = try pair.put(0, "log", "{\"n\":\(number)}", parent: revision) }
        try pair.run()
        let digests = try pair.digests()
        #expect(digests[0] == digests[1])
        #expect(digests[1].conflicts == 0)
    }

    @Test("frames that are not messages end the session with a reason and leave the store alone")
    func garbage() throws {
        for bytes in [[], [0xFF], [0x01, 0x00, 0x05, 0x61], Array(repeating: UInt8(0x80), count: 40)] as [[UInt8]] {
            let pair = try SessionPair()
            bytes.withUnsafeBytes { pair.sessions[1].receive(frame: $0, now: pair.now) }
            #expect(pair.sessions[1].ended?.closeCode == 1002 || pair.sessions[1].ended?.closeCode == 1009)
            #expect(try pair.digests()[1].documents == 0)
        }
    }

    /// Sends one request to a passive session as a stranger would, and gives the answer.
    private func answer(to request: BLIPOutgoing, in pair: SessionPair) throws -> BLIPMessage? {
        let stranger = BLIPConnection()
        stranger.send(request, tag: 1)
        let session = pair.sessions[1]
        var frame: [UInt8] = []
        while stranger.appendNextFrame(to: &frame) {
            frame.withUnsafeBytes { session.receive(frame: $0, now: pair.now) }
            frame.removeAll()
        }
        for pending in session.takeStoreRequests() {
            session.complete(
                pending.token, StoreExecutor(database: pair.databases[1]).performNow(pending.request), now: pair.now)
        }
        while session.appendNextFrame(to: &frame) {
            for event in try frame.withUnsafeBytes({ try stranger.receive($0) }) {
                if case .response(_, let message) = event { return message }
            }
            frame.removeAll()
        }
        return nil
    }

    @Test(
        "a revision that cannot be kept is refused by name, and the session goes on",
        arguments: [
            (["Profile": "rev"], "{}", 400), (["Profile": "rev", "id": "_x", "rev": "1-aa"], "{}", 400),
            (["Profile": "rev", "id": "x", "rev": "aa"], "{}", 400),
            (["Profile": "rev", "id": "x", "rev": "1-aa"], "{\"a\":1e400}", 400),
            (["Profile": "rev", "id": "x", "rev": "1-aa"], "[1]", 400),
            (["Profile": "rev", "id": "x", "rev": "1-aa"], "{\"_sync\":1}", 400),
            (["Profile": "rev", "id": "x", "rev": "1-aa"], "{\"a\":\"\\ud800\"}", 400),
            (["Profile": "rev", "id": "x", "rev": "2-aa", "deltaSrc": "1-aa"], "{}", 422),
            (["Profile": "changes"], "{\"a\":1}", 400), (["Profile": "getCheckpoint"], "", 400),
            (["Profile": "setCheckpoint", "client": "c"], "[]", 400), (["Profile": "proveAttachment"], "", 400),
            (["Profile": "getAttachment"], "", 400),
            (["Profile": "rev", "id": "x", "rev": "1-aa"], "{\"_attachments\":{\"a\":{\"data\":\"\"}}}", 400),
        ] as [([String: String], String, Int)])
    func refused(properties: [String: String], body: String, code: Int) throws {
        let pair = try SessionPair()
        let request = BLIPOutgoing(
            properties: BLIPProperties(properties.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }),
            body: Array(body.utf8), isUrgent: false, isNoReply: false, isCompressed: false)
        let reply = try answer(to: request, in: pair)
        #expect(reply?.error?.code == code)
        #expect(pair.sessions[1].ended == nil)
        #expect(try pair.digests()[1].documents == 0)
    }

    @Test("a checkpoint is kept with its revision, and one with another revision is refused")
    func checkpoints() throws {
        let pair = try SessionPair()
        func set(_ revision: String) -> BLIPOutgoing {
            BLIPOutgoing(
                properties: ["Profile": "setCheckpoint", "client": "c", "rev": revision],
                body: Array("{\"local\":7}".utf8), isUrgent: false, isNoReply: false, isCompressed: false)
        }
        #expect(try answer(to: set(""), in: pair)?.properties["rev"] == "1-cc")
        try pair.connect()
        #expect(try answer(to: set(""), in: pair)?.error?.code == 409)
        try pair.connect()
        #expect(try answer(to: set("nonsense"), in: pair)?.error?.code == 409)
        try pair.connect()
        #expect(try answer(to: set("1-cc"), in: pair)?.properties["rev"] == "2-cc")
    }

    @Test("a store that is full ends the link so that the peer comes again, and nothing is passed over")
    func fullDisk() throws {
        let pair = try SessionPair()
        try pair.run()
        try pair.put(0, "late", "{}")
        // Frames go over by hand, until the receiver wants to store.
        var wasAsked = false
        for _ in 0..<20 where !wasAsked {
            for index in 0..<2 {
                for pending in pair.sessions[index].takeStoreRequests() {
                    var result = StoreExecutor(database: pair.databases[index]).performNow(pending.request)
                    if case .insert = pending.request, index == 1 {
                        result = .failed(KithError(.diskFull, "no space is left"))
                        wasAsked = true
                    }
                    pair.sessions[index].complete(pending.token, result, now: pair.now)
                }
                var frame: [UInt8] = []
                while pair.sessions[index].appendNextFrame(to: &frame) {
                    frame.withUnsafeBytes { pair.sessions[1 - index].receive(frame: $0, now: pair.now) }
                    frame.removeAll()
                }
            }
        }
        #expect(wasAsked)
        #expect(pair.sessions[1].ended?.closeCode == 4001)
        #expect(pair.sessions[0].status.sentThrough == [.default: 0])
        try pair.connect()
        try pair.run()
        #expect(try pair.digests()[0] == pair.digests()[1])
    }
}

@Suite("Three nodes, two at a time")
struct ThreeNodesTests {
    @Test(
        "a node that got a long history late takes no ancestor that a third node still has for a conflict",
        arguments: [true, false])
    func longHistoryAndLateNode(lateNodeDials: Bool) throws {
        let (a, b, c) = (try SessionPair.database(), try SessionPair.database(), try SessionPair.database())
        let first = try SessionPair(databases: [a, c])
        var revision = try first.put(0, "log", "{\"n\":0}")
        for number in 1...4 { revision = try first.put(0, "log", "{\"n\":\(number)}", parent: revision) }
        try first.run()
        // C is away; the document goes on for a long time, then B is new and gets it.
        let second = try SessionPair(databases: [a, b])
        for number in 5...150 { revision = try second.put(0, "log", "{\"n\":\(number)}", parent: revision) }
        try second.run()
        let third = try SessionPair(databases: lateNodeDials ? [b, c] : [c, b])
        try third.run()
        let digests = try [a, b, c].map { try $0.read { try $0.digest() } }
        #expect(digests[0] == digests[1])
        #expect(digests[1] == digests[2])
        #expect(digests[1].conflicts == 0)
    }
}
