import KithDocuments
import KithStore
import Testing

@testable import KithReplication

@Suite("Windows")
struct WindowTests {
    @Test("the smallest windows still carry everything", arguments: [1, 2, 3])
    func smallest(size: Int) throws {
        var limits = ReplicationLimits()
        limits.changesPerListMax = size
        limits.unansweredListsMax = 1
        limits.queuedRevisionsMax = size
        limits.revisionsPerReadMax = 1
        limits.unansweredRevisionsMax = 1
        limits.unansweredRevisionBytesMax = 1
        limits.awaitedRevisionsMax = 1
        limits.insertBatchMax = 1
        limits.receivedBytesMax = 1
        let pair = try SessionPair(limits: limits)
        for number in 0..<60 { try pair.put(number % 2, "d-\(number)", "{\"n\":\(number)}") }
        try pair.run()
        let digests = try pair.digests()
        #expect(digests[0] == digests[1])
        #expect(digests[0].documents == 60)
    }
}

@Suite("The memory of a link")
struct LinkMemoryTests {
    /// 10 GB for each peer.
    private static let documents: UInt64 = 1_000_000
    private let body: [UInt8] = {
        let filling = String(repeating: "0123456789", count: 1_000)
        return Array("{\"filling\":\"\(filling)\"}".utf8)
    }()

    /// With all that belongs to one revision in its message.
    private var ceiling: Int { ReplicationLimits().bytesHeldMax(largestRevisionBytes: body.count + 512) }

    @Test("a peer that stops reading, and one that reads slowly, let a session hold no more than its windows")
    func slowReader() throws {
        let reader = try SlowReader(documents: Self.documents, body: body)
        #expect(reader.session.status.toSend == nil || reader.session.status.toSend == Int(Self.documents))
        // It reads and never answers: everything comes to a stand within the windows.
        try reader.take(frames: 5_000)
        let stopped = reader.revisions
        #expect(stopped > 0)
        #expect(stopped < ReplicationLimits().unansweredRevisionsMax + ReplicationLimits().revisionsPerReadMax)
        try reader.take(frames: 100)
        #expect(reader.revisions == stopped)
        // It answers one after the other.
        for _ in 0..<300 {
            try reader.answer(1)
            try reader.take(frames: 1)
        }
        #expect(reader.revisions > stopped)
        #expect(reader.bytesHeldMost > ReplicationLimits().unansweredRevisionBytesMax / 2)
        #expect(reader.bytesHeldMost <= ceiling)
        // What is read of the backlog is what the peer has taken, and a window.
        #expect(reader.bytesRead <= (reader.revisions + 1) * body.count + ceiling)
        #expect(reader.session.ended == nil)
    }

    @Test("fifty slow peers take fifty windows")
    func fiftyPeers() throws {
        let readers = try (0..<50).map { _ in try SlowReader(documents: Self.documents, body: body) }
        for round in 0..<3 {
            for (number, reader) in readers.enumerated() {
                try reader.take(frames: 2 + (number + round) % 5)
                try reader.answer(number % 3)
            }
        }
        for reader in readers {
            #expect(reader.revisions > 0)
            #expect(reader.bytesHeldMost <= ceiling)
        }
        let together = readers.reduce(0) { $0 + $1.session.bytesHeld }
        #expect(together <= 50 * ceiling)
    }

    @Test("while the disk does nothing, a receiver holds what the sender may have on its way")
    func slowStore() throws {
        let pair = try SessionPair()
        for number in 0..<600 { try pair.put(0, "d-\(number)", String(decoding: body, as: UTF8.self)) }
        var most = 0
        pair.onMove = { most = max(most, pair.sessions[0].bytesHeld, pair.sessions[1].bytesHeld) }
        try pair.run { index, request in
            guard index == 1, case .insert = request else { return false }
            return true
        }
        #expect(most > ReplicationLimits().unansweredRevisionBytesMax / 2)
        #expect(most <= ceiling)
        try pair.run()
        let digests = try pair.digests()
        #expect(digests[0] == digests[1])
        #expect(most <= ceiling)
    }

    @Test("a frame costs the same turns, however many collections are idle", arguments: [1, 100])
    func turns(collections: Int) throws {
        let pair = try SessionPair()
        let names = try (0..<collections).map { try CollectionName("c\($0)") }
        for name in names { try pair.put(0, "first", "{}", in: name) }
        try pair.run()
        try pair.pass(seconds: 10)
        let before = pair.sessions.map(\.turnsTaken)
        for number in 0..<20 { try pair.put(0, "d-\(number)", "{}", in: names[0]) }
        try pair.run()
        for (session, before) in zip(pair.sessions, before) {
            #expect(session.turnsTaken - before < 400)
        }
    }
}
