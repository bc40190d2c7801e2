import KithDocuments
import KithReplication
import KithStore
import KithWire
import Synchronization
import Testing

@Suite("Attachments over a pipe")
struct AttachmentTests {
    /// Bytes that are the same for one seed and differ at every place.
    private func noise(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
        var state = seed &* 0x9E37_79B9_7F4A_7C15
        return (0..<count).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: state >> 56)
        }
    }

    private func expectEqualAndIdle(_ pair: SessionPair) throws {
        let digests = try pair.digests()
        #expect(digests[0] == digests[1])
        for session in pair.sessions {
            #expect(session.ended == nil)
            #expect(session.status.state == .idle)
            #expect(session.status.refusals == 0)
            #expect(session.blobBytesHeld == 0)
        }
        for database in pair.databases { #expect(try database.findFaults() == []) }
    }

    @Test(
        "an attachment of any size arrives with its bytes, its type and its name",
        arguments: [0, 1, 1_000, 262_143, 262_144, 262_145, 1_500_000])
    func sizes(count: Int) throws {
        let pair = try SessionPair()
        let bytes = noise(count)
        try pair.put(0, "scan", "{\"a\":1,\"Z\":2}", files: ["pixels é/1.png": bytes])
        try pair.put(1, "other", "{}", files: ["x": bytes.reversed()])
        try pair.run()
        try expectEqualAndIdle(pair)
        #expect(try pair.file(1, "scan", "pixels é/1.png") == bytes)
        #expect(try pair.file(0, "other", "x") == bytes.reversed())
        let id = try DocumentID("scan")
        let document = try #require(try pair.databases[1].read { try $0.document(id) })
        #expect(document.attachments.first?.contentType == "image/png")
        #expect(document.attachments.first?.revpos == 1)
        #expect(String(decoding: document.body, as: UTF8.self) == "{\"Z\":2,\"a\":1}")
    }

    @Test("text edits send no bytes of the attachment, and one that is dropped goes away")
    func edits() throws {
        let pair = try SessionPair()
        let bytes = noise(100_000)
        var revision = try pair.put(0, "form", "{}", files: ["scan": bytes])
        try pair.run()
        #expect(pair.sessions[0].status.attachmentBytesSent == 100_000)
        for number in 0..<20 {
            revision = try pair.put(0, "form", "{\"n\":\(number)}", parent: revision, files: ["scan": bytes])
            try pair.run()
        }
        #expect(pair.sessions[0].status.attachmentBytesSent == 100_000)
        #expect(pair.sessions[1].status.attachmentBytesReceived == 100_000)
        #expect(try pair.file(1, "form", "scan") == bytes)
        try pair.put(0, "form", "{}", parent: revision)
        try pair.run()
        try expectEqualAndIdle(pair)
        #expect(try pair.file(1, "form", "scan") == nil)
    }

    @Test("what many documents have is sent once, also while the first of them waits for it")
    func shared() throws {
        let pair = try SessionPair()
        let bytes = noise(300_000)
        for number in 0..<60 {
            try pair.put(0, "d-\(number)", "{}", files: ["common": bytes, "own": noise(10, seed: UInt64(number + 2))])
        }
        try pair.run()
        try expectEqualAndIdle(pair)
        #expect(pair.sessions[1].status.attachmentBytesReceived == 300_000 + 60 * 10)
    }

    @Test("a revision still gets an attachment that came for another one and went again before its own others had come")
    func wentAgain() throws {
        let clock = Clock()
        let databases = try (0..<2).map { _ in
            var options = DatabaseOptions(clock: { clock.milliseconds.load(ordering: .relaxed) })
            options.writer = .caller
            return try Database(path: ":memory:", name: DatabaseName("pair"), create: true, options: options)
        }
        let pair = try SessionPair(databases: databases)
        let (small, large) = (noise(10), noise(300_000, seed: 2))
        let digests = try databases[0].writeBlocking { transaction in
            try [small, large].map { try transaction.addBlob($0).digest }
        }
        func begins(_ request: StoreRequest, _ wanted: [AttachmentDigest]) -> Bool {
            if case .beginBlob(let digest, _, _) = request { wanted.contains(digest) } else { false }
        }
        // The first waits for the small one, while the large one comes for the second.
        try pair.put(0, "first", "{}", files: ["a": small, "b": large])
        let second = try pair.put(0, "second", "{}", files: ["b": large])
        try pair.run(holding: { begins($1, [digests[0]]) })
        #expect(try pair.file(1, "second", "b") == large)
        // It goes again with the second.
        try pair.put(0, "second", "{}", parent: second)
        try pair.run(holding: { begins($1, [digests[0]]) })
        clock.milliseconds.add(7_200_000, ordering: .relaxed)
        try databases[1].doHousekeeping()
        #expect(try databases[1].read { try $0.blob(digests[1]) } == nil)
        // The third fetches it anew, and the small one comes meanwhile.
        try pair.put(0, "third", "{}", files: ["b": large])
        try pair.run(holding: { begins($1, digests) })
        try pair.run()
        try expectEqualAndIdle(pair)
        #expect(try pair.file(1, "first", "b") == large)
        #expect(try pair.file(1, "third", "b") == large)
    }

    private final class Clock: Sendable {
        let milliseconds = Atomic<Int64>(1_800_000_000_000)
    }

    @Test("a document with very many attachments arrives, with the smallest windows as well")
    func many() throws {
        var limits = ReplicationLimits()
        limits.unansweredRevisionsMax = 1
        limits.receivedBytesMax = 1
        limits.fetchesMax = 1
        limits.blobRepliesMax = 1
        limits.blobBytesQueuedMax = 1
        limits.blobLookUpMax = 1
        for limits in [ReplicationLimits(), limits] {
            let pair = try SessionPair(limits: limits)
            var files: [String: [UInt8]] = [:]
            for number in 0..<1_025 { files["f-\(number)"] = noise(number % 50, seed: UInt64(number)) }
            try pair.put(0, "many", "{}", files: files)
            for number in 0..<30 { try pair.put(0, "d-\(number)", "{}", files: ["one": [UInt8(number)]]) }
            try pair.run()
            try expectEqualAndIdle(pair)
            #expect(try pair.file(1, "many", "f-1024") == files["f-1024"])
        }
    }

    @Test("attachments of no byte and of one are whole")
    func smallest() throws {
        let pair = try SessionPair()
        try pair.put(0, "a", "{}", files: ["none": [], "one": [7]])
        try pair.run()
        #expect(try pair.file(1, "a", "none") == [])
        #expect(try pair.file(1, "a", "one") == [7])
        #expect(pair.sessions.allSatisfy { $0.status.state == .idle && $0.status.refusals == 0 })
    }

    @Test("each branch of a conflict keeps its own attachment")
    func branches() throws {
        let pair = try SessionPair()
        let first = try pair.put(0, "form", "{}", files: ["scan": noise(5_000)])
        try pair.run()
        let kept = try pair.put(0, "form", "{\"n\":1}", parent: first, files: ["scan": noise(5_000)])
        let dropped = try pair.put(1, "form", "{\"n\":2}", parent: first)
        try pair.run()
        try expectEqualAndIdle(pair)
        let id = try DocumentID("form")
        for database in pair.databases {
            let branches = try [kept, dropped].map { revision in
                try database.read { try $0.document(id, revision: revision)?.attachments.count }
            }
            #expect(branches == [1, 0])
        }
    }

    @Test("a link that is lost at any moment leaves no half of an attachment, and the next one brings it")
    func interrupted() throws {
        let bytes = noise(700_000)
        for frames in stride(from: 1, to: 70, by: 7) {
            let pair = try SessionPair()
            try pair.put(0, "scan", "{}", files: ["pixels": bytes])
            try pair.run(stoppingAfterFrames: frames)
            let before = try pair.file(1, "scan", "pixels")
            #expect(before == nil || before == bytes)
            #expect(try pair.databases[1].findFaults() == [])
            try pair.connect()
            try pair.run()
            try expectEqualAndIdle(pair)
            #expect(try pair.file(1, "scan", "pixels") == bytes)
        }
    }

    @Test("a transfer that was interrupted goes on where it stopped, on the next link", arguments: [1, 2, 5])
    func goesOn(links: Int) throws {
        let pair = try SessionPair()
        let bytes = noise(3_000_000)
        try pair.put(0, "scan", "{}", files: ["pixels": bytes])
        var received: UInt64 = 0
        for _ in 0..<links {
            try pair.run(stoppingAfterFrames: 60)
            received += pair.sessions[1].status.attachmentBytesReceived
            try pair.connect()
        }
        try pair.run()
        try expectEqualAndIdle(pair)
        let last = pair.sessions[1].status.attachmentBytesReceived
        #expect(received > 256 << 10)
        // All that arrived counted, but for what was on its way to the store.
        #expect(received + last >= 3_000_000)
        #expect(received + last <= 3_000_000 + UInt64(links * WireLimits.blipUnacknowledgedBytesMax))
        #expect(try pair.file(1, "scan", "pixels") == bytes)
    }

    private func begin(_ digest: AttachmentDigest, length: Int, _ bytes: [UInt8], at executor: StoreExecutor) {
        let begun = executor.performNow(.beginBlob(digest, length: UInt64(length), resumes: true))
        guard case .blobBegun(let blob, offset: 0) = begun else { return }
        _ = executor.performNow(.appendBlob(blob, bytes))
    }

    @Test("what a peer sent wrongly before it was lost does not spoil what another sends")
    func wrongBeginning() throws {
        let receiver = try SessionPair.database()
        let bytes = noise(1_500_000)
        let pair = try SessionPair(databases: [SessionPair.database(), receiver])
        let revision = try pair.put(0, "scan", "{}", files: ["pixels": bytes])
        let digest = try #require(
            try pair.databases[0].read {
                try $0.document(DocumentID("scan"), revision: revision)?.attachments.first?.digest
            })
        // The first piece comes with a wrong byte, then the link is lost.
        var wrong = Array(bytes[..<400_000])
        wrong[7] ^= 1
        begin(digest, length: bytes.count, wrong, at: pair.executors[1])
        try pair.run()
        try expectEqualAndIdle(pair)
        #expect(try pair.file(1, "scan", "pixels") == bytes)
        // It went on behind the wrong bytes, found out, and began anew.
        #expect(pair.sessions[1].status.attachmentBytesReceived == UInt64(bytes.count + bytes.count - 400_000))
    }

    @Test("many wrong beginnings cost one attempt: then the blob comes from the start, and none of them stays")
    func poisoned() throws {
        let bytes = noise(1_500_000)
        let pair = try SessionPair()
        let revision = try pair.put(0, "scan", "{}", files: ["pixels": bytes])
        let digest = try #require(
            try pair.databases[0].read {
                try $0.document(DocumentID("scan"), revision: revision)?.attachments.first?.digest
            })
        for count in [1_100_000, 1_400_000, 1_200_000, 1_300_000] {
            let begun = pair.executors[1].performNow(.beginBlob(digest, length: UInt64(bytes.count), resumes: false))
            guard case .blobBegun(let blob, offset: 0) = begun else { throw KithError(.internal, "not begun") }
            _ = pair.executors[1].performNow(.appendBlob(blob, [UInt8](repeating: 0, count: count)))
        }
        try pair.run()
        try expectEqualAndIdle(pair)
        #expect(try pair.file(1, "scan", "pixels") == bytes)
        #expect(pair.sessions[1].status.attachmentBytesReceived == UInt64(100_000 + bytes.count))
        try pair.databases[1].doHousekeeping()
        #expect(try pair.databases[1].blobTableCounts() == [1, 6])
    }

    @Test(
        "a peer that has nothing of an attachment spoils nothing of what another has sent",
        arguments: ["404", "410", "500"])
    func errorSpoilsNothing(code: String) throws {
        let bytes = noise(1_500_000)
        let pair = try SessionPair()
        let revision = try pair.put(0, "scan", "{}", files: ["pixels": bytes])
        let digest = try #require(
            try pair.databases[0].read {
                try $0.document(DocumentID("scan"), revision: revision)?.attachments.first?.digest
            })
        begin(digest, length: bytes.count, Array(bytes[..<1_200_000]), at: pair.executors[1])
        let stranger = try Stranger(pair.databases[1], peerIsKith: true, executor: pair.executors[1])
        stranger.answer = { request in
            guard request.properties["Profile"] == "getAttachment" else { return ([:], []) }
            return (["Error-Domain": "HTTP", "Error-Code": code], [])
        }
        stranger.send(
            ["Profile": "rev", "id": "other", "rev": "1-aa", "sequence": "1"],
            Array("{\"_attachments\":{\"a\":{\"digest\":\"\(digest)\",\"length\":\(bytes.count),\"stub\":true}}}".utf8),
            tag: 1)
        try stranger.run()
        #expect(stranger.replies[1]?.error?.code == (code == "410" ? 410 : 404))
        try pair.run()
        try expectEqualAndIdle(pair)
        #expect(pair.sessions[1].status.attachmentBytesReceived == 300_000)
    }

    @Test("an attachment that goes while its revision is on its way is no refusal: the newer revision comes")
    func goesMeanwhile() throws {
        let bytes = noise(600_000)
        var earlyEnds = 0
        for frames in 8..<60 {
            let pair = try SessionPair()
            let first = try pair.put(0, "scan", "{}", files: ["pixels": bytes])
            try pair.run(stoppingAfterFrames: frames)
            try pair.put(0, "scan", "{\"n\":2}", parent: first)
            try pair.databases[0].doHousekeeping()
            try pair.run()
            try expectEqualAndIdle(pair)
            #expect(try pair.file(1, "scan", "pixels") == nil)
            if 1..<600_000 ~= pair.sessions[1].status.attachmentBytesReceived { earlyEnds += 1 }
        }
        // Some of them met the attachment in the middle of its way.
        #expect(earlyEnds > 0)
    }

    @Test("a blob of 64 MiB goes from store to store and the sessions hold a bounded number of its bytes")
    func bounded() throws {
        let pair = try SessionPair()
        let count = 64 << 20
        // A megabyte again and again, with its number before it, so that no two pieces are alike.
        let block = noise(1 << 20)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        for number in 0..<64 {
            bytes.append(UInt8(number))
            bytes.append(contentsOf: block.dropLast())
        }
        try pair.put(0, "film", "{}", files: ["film": bytes])
        try pair.run()
        try expectEqualAndIdle(pair)
        #expect(pair.sessions[1].status.attachmentBytesReceived == UInt64(count))
        // The counting sees what is there: at least a piece was held.
        #expect(pair.blobBytesHeldMost >= ReplicationLimits().blobPieceBytes)
        #expect(pair.blobBytesHeldMost <= ReplicationLimits().blobBytesHeldMax)
        #expect(ReplicationLimits().blobBytesHeldMax < count / 16)
        let stored = try pair.file(1, "film", "film")
        #expect(stored == bytes)
    }

    @Test("many large blobs at once stay within the same bound")
    func boundedMany() throws {
        let pair = try SessionPair()
        for number in 0..<24 {
            try pair.put(number % 2, "d-\(number)", "{}", files: ["x": noise(900_000, seed: UInt64(number))])
        }
        try pair.run()
        try expectEqualAndIdle(pair)
        #expect(pair.blobBytesHeldMost <= ReplicationLimits().blobBytesHeldMax)
    }
}
