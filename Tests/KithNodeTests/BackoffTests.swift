import Testing

@testable import KithNode

@Suite("Back-off")
struct BackoffTests {
    @Test("doubles up to its maximum, and starts anew when it went well")
    func doubles() {
        var backoff = Backoff(secondsMin: 1, secondsMax: 120)
        #expect((0..<9).map { _ in backoff.nextSeconds(random: 0) } == [1, 2, 4, 8, 16, 32, 64, 120, 120])
        backoff.reset()
        #expect(backoff.nextSeconds(random: 0) == 1)
    }

    @Test("chance takes away at most half")
    func jitter() {
        var backoff = Backoff(secondsMin: 4, secondsMax: 120)
        #expect(backoff.nextSeconds(random: 1) == 2)
        #expect(backoff.nextSeconds(random: 0.5) == 6)
    }
}
