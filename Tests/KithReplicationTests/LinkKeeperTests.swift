import KithReplication
import Testing

@Suite("The keeper of a link")
struct LinkKeeperTests {
    private func moment(_ seconds: Double, chance: Double = 0, unlinked: Int = 1) -> LinkMoment {
        LinkMoment(seconds: seconds, chance: chance, unlinkedCount: unlinked)
    }

    /// A keeper that dials at 0.
    private func dialling(leads: Bool) -> LinkKeeper {
        var keeper = LinkKeeper(leads: leads)
        keeper.start(moment(leads ? 0 : -LinkLimits.courtesySeconds))
        let actions = keeper.wake(atSeconds: 0)
        #expect(actions == [.dial])
        return keeper
    }

    @Test("the node with the smaller ID dials at once, the other a moment later")
    func courtesy() {
        var (leader, other) = (LinkKeeper(leads: true), LinkKeeper(leads: false))
        leader.start(moment(10))
        other.start(moment(10))
        #expect(leader.wakeAtSeconds == 10)
        #expect(other.wakeAtSeconds == 10 + LinkLimits.courtesySeconds)
        let early = other.wake(atSeconds: 10)
        #expect(early.isEmpty && !other.isDialling)
    }

    @Test("of many that dial at once, chance spreads the dials: a tenth of a second for each")
    func spread() {
        var keeper = LinkKeeper(leads: true)
        keeper.start(moment(0, chance: 0.5, unlinked: 30))
        #expect(keeper.wakeAtSeconds == 1.5)
        keeper.start(moment(0, chance: 1, unlinked: 1_000_000))
        #expect(keeper.wakeAtSeconds == LinkLimits.spreadSecondsMax)
    }

    @Test("the wait doubles from one second to two minutes, and chance takes at most half of it")
    func backsOff() {
        for (chance, expected) in [(0.0, [1.0, 2, 4, 8, 16, 32, 60, 60]), (1, [2, 4, 8, 16, 32, 64, 120, 120])] {
            var keeper = dialling(leads: true)
            var now = 0.0
            for wait in expected {
                keeper.dialFailed(.failed, moment(now, chance: chance))
                #expect(keeper.wakeAtSeconds == now + wait)
                now += wait
                let actions = keeper.wake(atSeconds: now)
                #expect(actions == [.dial])
            }
        }
    }

    @Test("a link that was in sync, or that lived long, ends the back-off; one that ended at once does not")
    func proven() {
        var keeper = dialling(leads: true)
        for failure in 1...3 {
            keeper.dialFailed(.failed, moment(0))
            #expect(keeper.wakeAtSeconds == Double(1 << (failure - 1)))
            _ = keeper.wake(atSeconds: 100)
        }
        let isKept = keeper.dialOpened(atSeconds: 100)
        #expect(isKept)
        keeper.ended(moment(100))
        #expect(keeper.wakeAtSeconds == 108)
        _ = keeper.wake(atSeconds: 108)
        _ = keeper.dialOpened(atSeconds: 108)
        keeper.ended(moment(108 + LinkLimits.provenSeconds))
        #expect(keeper.wakeAtSeconds == 109 + LinkLimits.provenSeconds)
        _ = keeper.wake(atSeconds: 200)
        keeper.dialFailed(.failed, moment(200))
        _ = keeper.wake(atSeconds: 300)
        _ = keeper.dialOpened(atSeconds: 300)
        keeper.settled()
        keeper.ended(moment(300))
        #expect(keeper.wakeAtSeconds == 301)
    }

    // leader                        other
    //   dials, is answered            dials, is answered
    //   is asked: "opening"           is asked: takes it, gives its own dial up
    @Test("both dial at once: the leader's link is made, whoever's request comes first")
    func crossing() {
        for leaderIsFirst in [true, false] {
            var (leader, other) = (dialling(leads: true), dialling(leads: false))
            leader.dialAnswered(true)
            other.dialAnswered(true)
            if leaderIsFirst {
                #expect(other.asked().answer == .accept)
                let actions = other.accepted(atSeconds: 1)
                #expect(actions == [.cancelDial])
                #expect(leader.asked().answer == .opening)
            } else {
                #expect(leader.asked().answer == .opening)
                other.dialFailed(.crossed, moment(1))
                #expect(other.wakeAtSeconds == 2 + LinkLimits.courtesySeconds)
                #expect(other.asked().answer == .accept)
                let actions = other.accepted(atSeconds: 1)
                #expect(actions.isEmpty && other.wakeAtSeconds == nil)
            }
            let isKept = leader.dialOpened(atSeconds: 1)
            #expect(isKept && leader.isLinked && other.isLinked)
        }
    }

    @Test("the leader takes the other's link while its own dial tries dead addresses")
    func leaderIsSlow() {
        var leader = dialling(leads: true)
        #expect(leader.asked().answer == .accept)
        let actions = leader.accepted(atSeconds: 1)
        #expect(actions == [.cancelDial])
        // What was already on its way from the dial is not wanted.
        let isKept = leader.dialOpened(atSeconds: 1)
        #expect(!isKept && leader.isLinked)
        // An address answered, and it came to nothing: then it is asked again.
        leader = dialling(leads: true)
        leader.dialAnswered(true)
        #expect(leader.asked().answer == .opening)
        leader.dialAnswered(false)
        #expect(leader.asked().answer == .accept)
    }

    @Test("who asks although there is a link has lost it: the leader has it probed, the other takes the new one")
    func halfOpen() {
        var leader = dialling(leads: true)
        _ = leader.dialOpened(atSeconds: 1)
        let (answer, actions) = leader.asked()
        #expect(answer == .linkedAlready && actions == [.probeLink])
        var other = dialling(leads: false)
        _ = other.dialOpened(atSeconds: 1)
        #expect(other.asked().answer == .accept)
        let ends = other.accepted(atSeconds: 2)
        #expect(ends == [.endLink] && other.isLinked)
        // A link that the other had opened is taken for dead by the leader too when the other asks for a new one.
        leader = LinkKeeper(leads: true)
        _ = leader.accepted(atSeconds: 1)
        #expect(leader.asked().answer == .accept)
        let leaderEnds = leader.accepted(atSeconds: 2)
        #expect(leaderEnds == [.endLink])
    }

    @Test("discovery and the network end a wait at once, and are not waited for when there is a link")
    func hurries() {
        for leads in [true, false] {
            var keeper = dialling(leads: leads)
            for _ in 1...7 {
                keeper.dialFailed(.failed, moment(0))
                _ = keeper.wake(atSeconds: 100)
            }
            keeper.dialFailed(.failed, moment(100))
            #expect(keeper.wakeAtSeconds ?? 0 >= 160)
            let actions = keeper.hurry(moment(110), isNews: false)
            #expect(actions.isEmpty && keeper.wakeAtSeconds == 110 + (leads ? 0 : LinkLimits.courtesySeconds))
            _ = keeper.wake(atSeconds: 112)
            // If it comes to nothing, it is tried again soon.
            keeper.dialFailed(.failed, moment(112))
            #expect(keeper.wakeAtSeconds == 113 + (leads ? 0 : LinkLimits.courtesySeconds))
            _ = keeper.wake(atSeconds: 115)
            _ = keeper.dialOpened(atSeconds: 115)
            let none = keeper.hurry(moment(116), isNews: true)
            #expect(none.isEmpty && keeper.wakeAtSeconds == nil && keeper.isLinked)
        }
    }

    @Test("a peer without an address is dialled as soon as discovery has one")
    func noAddress() {
        var keeper = dialling(leads: true)
        keeper.dialFailed(.noAddress, moment(0))
        #expect(keeper.wakeAtSeconds == nil)
        _ = keeper.hurry(moment(500), isNews: true)
        #expect(keeper.wakeAtSeconds == 500)
    }

    @Test("a new address replaces a dial that tries old ones, but not one that is answered or has only begun")
    func news() {
        var keeper = dialling(leads: true)
        let same = keeper.hurry(moment(2), isNews: false)
        #expect(same.isEmpty && keeper.isDialling)
        let cancelled = keeper.hurry(moment(2), isNews: true)
        #expect(cancelled == [.cancelDial] && keeper.wakeAtSeconds == 2)
        _ = keeper.wake(atSeconds: 2)
        // Too soon; but it is not forgotten.
        let young = keeper.hurry(moment(2.1), isNews: true)
        #expect(young.isEmpty && keeper.isDialling)
        keeper.dialFailed(.failed, moment(2.2))
        #expect(keeper.wakeAtSeconds == 3.2)
        _ = keeper.wake(atSeconds: 4)
        keeper.dialAnswered(true)
        let answered = keeper.hurry(moment(20), isNews: true)
        #expect(answered.isEmpty && keeper.isDialling)
    }

    @Test("who announces a peer that is not there again and again causes ever fewer dials")
    func wrongWords() {
        var keeper = LinkKeeper(leads: true)
        keeper.start(moment(0))
        var dials: [Double] = []
        // Ten words a second for ten minutes, each with a new address; a dial fails after 4 s.
        for tenth in 0..<6_000 {
            let now = Double(tenth) / 10
            _ = keeper.hurry(moment(now), isNews: true)
            if !keeper.wake(atSeconds: now).isEmpty { dials.append(now) }
            if keeper.isDialling, let last = dials.last, now >= last + 4 { keeper.dialFailed(.failed, moment(now)) }
        }
        let gaps = zip(dials, dials.dropFirst()).map { $1 - $0 }
        #expect(gaps.allSatisfy { $0 >= LinkLimits.redialSecondsMin - 1e-6 })
        #expect(gaps.suffix(10).allSatisfy { $0 >= LinkLimits.hurrySecondsMax - 1e-6 })
        #expect(dials.count <= 30)
        // When it is there at last, it is linked, and the next word counts again.
        _ = keeper.wake(atSeconds: 700)
        _ = keeper.dialOpened(atSeconds: 700)
        keeper.settled()
        keeper.ended(moment(701))
        _ = keeper.hurry(moment(701), isNews: true)
        #expect(keeper.wakeAtSeconds == 701)
    }
}
