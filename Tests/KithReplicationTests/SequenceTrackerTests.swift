import Testing

@testable import KithReplication

@Suite("Sequence tracker")
struct SequenceTrackerTests {
    @Test("what is done ends before the earliest unfinished sequence, in whatever order the parts finish")
    func holdsAtTheEarliestUnfinished() {
        var tracker = SequenceTracker<UInt64>(completed: 4)
        let five = tracker.add(5, open: 2)
        let six = tracker.add(6, open: 1)
        _ = tracker.add(7, open: 0)
        tracker.close(six)
        #expect(tracker.completed == 4)
        tracker.close(five)
        #expect(tracker.completed == 4)
        tracker.close(five)
        #expect(tracker.completed == 7)
        #expect(tracker.count == 0)
    }

    @Test("tickets stay valid over thousands of sequences")
    func staysValid() {
        var tracker = SequenceTracker<UInt64>(completed: nil)
        var open: [Int] = []
        for sequence in 1...10_000 as ClosedRange<UInt64> {
            open.append(tracker.add(sequence, open: 1))
            if sequence > 10 { tracker.close(open[Int(sequence) - 11]) }
        }
        #expect(tracker.completed == 9_990)
        #expect(tracker.count == 10)
        for ticket in open.suffix(10).reversed() { tracker.close(ticket) }
        #expect(tracker.completed == 10_000)
    }

    @Test("a ticket that is done already changes nothing")
    func ignoresWhatIsDone() {
        var tracker = SequenceTracker<UInt64>(completed: nil)
        let one = tracker.add(1, open: 1)
        tracker.close(one)
        tracker.close(one)
        _ = tracker.add(2, open: 1)
        #expect(tracker.completed == 1)
    }
}
