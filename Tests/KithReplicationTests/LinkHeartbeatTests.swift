import KithReplication
import Testing

@Suite("The heartbeat of a link")
struct LinkHeartbeatTests {
    /// Wakes it when it wants to until it says that the peer is dead; when that was, and the pings before.
    private func run(
        _ heartbeat: inout LinkHeartbeat, lateBy late: Double = 0, isDeafUntil: Double = 0
    ) -> (deadAt: Double, pings: [Double]) {
        var pings: [Double] = []
        for _ in 0..<1_000 {
            let now = heartbeat.wakeAtSeconds + late
            switch heartbeat.wake(atSeconds: now, isDeaf: now < isDeafUntil) {
            case .nothing: break
            case .ping: pings.append(now)
            case .dead: return (now, pings)
            }
        }
        return (.infinity, pings)
    }

    @Test("a silent peer is asked after 4 s and dead after 10")
    func silent() {
        var heartbeat = LinkHeartbeat(atSeconds: 100)
        let (deadAt, pings) = run(&heartbeat)
        #expect(pings == [104] && deadAt == 110)
    }

    @Test("whenever the last byte came, the peer is found dead 10 to 12 s after it")
    func bound() {
        for tenth in 0..<400 {
            let last = Double(tenth) / 10
            var heartbeat = LinkHeartbeat(atSeconds: 0)
            // A byte each second, and the last one at any time.
            for now in (0...Int(last)).map(Double.init) + [last] {
                while heartbeat.wakeAtSeconds <= now { _ = heartbeat.wake(atSeconds: now, isDeaf: false) }
                heartbeat.heard(atSeconds: now)
            }
            let (deadAt, _) = run(&heartbeat)
            #expect((last + 9.999...last + 12.001).contains(deadAt))
        }
    }

    @Test("a peer that answers each ping lives for ever, and is asked every few seconds only")
    func answers() {
        var heartbeat = LinkHeartbeat(atSeconds: 0)
        var pings = 0
        while heartbeat.wakeAtSeconds < 3_600 {
            let now = heartbeat.wakeAtSeconds
            let verdict = heartbeat.wake(atSeconds: now, isDeaf: false)
            guard verdict != .nothing else { continue }
            #expect(verdict == .ping)
            pings += 1
            heartbeat.heard(atSeconds: now + 0.1)
        }
        #expect((550...900).contains(pings))
    }

    @Test("a word that the peer is dead has it asked at once; more of them give it no more time")
    func probe() {
        var heartbeat = LinkHeartbeat(atSeconds: 0)
        let first = heartbeat.probe(atSeconds: 1)
        #expect(first)
        for second in 2...6 {
            let again = heartbeat.probe(atSeconds: Double(second))
            #expect(!again)
        }
        let verdict = heartbeat.wake(atSeconds: 7, isDeaf: false)
        #expect(verdict == .dead(silenceSeconds: 7))
    }

    @Test("a node that stood still asks once more before it calls its peers dead, but not for ever")
    func overslept() {
        var heartbeat = LinkHeartbeat(atSeconds: 0)
        _ = heartbeat.wake(atSeconds: 4, isDeaf: false)
        let woken = heartbeat.wake(atSeconds: 60, isDeaf: false)
        #expect(woken == .ping)
        heartbeat.heard(atSeconds: 60.1)
        let alive = heartbeat.wake(atSeconds: heartbeat.wakeAtSeconds, isDeaf: false)
        #expect(alive == .ping)
        var dead = LinkHeartbeat(atSeconds: 0)
        let (deadAt, pings) = run(&dead, lateBy: 3)
        #expect(pings == [7, 16] && deadAt == 25)
    }

    @Test("while this node does not read, silence is its own doing, and its pings are its sign of life")
    func deaf() {
        var heartbeat = LinkHeartbeat(atSeconds: 0)
        let (deadAt, pings) = run(&heartbeat, isDeafUntil: 30)
        #expect(pings.count >= 7 && pings.prefix(7) == [4, 8, 12, 16, 20, 24, 28] && deadAt == 38)
    }
}
