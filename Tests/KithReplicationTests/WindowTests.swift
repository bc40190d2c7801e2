import KithReplication
import Testing

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
