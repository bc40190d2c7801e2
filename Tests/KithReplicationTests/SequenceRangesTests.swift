import KithDocuments
import Testing

@testable import KithReplication

@Suite("Sequences that came from a peer")
struct SequenceRangesTests {
    private func ranges(_ sequences: [UInt64]) -> SequenceRanges {
        var ranges = SequenceRanges()
        for sequence in sequences { ranges.insert(sequence) }
        return ranges
    }

    @Test("sequences that follow each other are one range, in whatever order they come")
    func ranges() {
        for order in [[1, 2, 3, 5, 6, 9], [9, 6, 3, 5, 2, 1], [5, 1, 9, 3, 2, 6, 6, 1]] as [[UInt64]] {
            #expect(ranges(order).ranges == [1...3, 5...6, 9...9])
        }
        var joined = ranges([1, 2, 5, 9])
        joined.insert(3...7)
        #expect(joined.ranges == [1...7, 9...9])
        joined.insert(1...20)
        #expect(joined.ranges == [1...20])
        #expect(joined.contains(1) && joined.contains(20) && !joined.contains(21) && !joined.contains(0))
        var largest = SequenceRanges()
        largest.insert(UInt64.max)
        largest.insert(UInt64.max - 1)
        #expect(largest.ranges == [UInt64.max - 1...UInt64.max])
    }

    @Test("beyond the limit the shortest is forgotten")
    func bounded() {
        var many = SequenceRanges()
        many.insert(1...10)
        for number in 1...UInt64(SequenceRanges.rangesMax) { many.insert(number * 100) }
        #expect(many.ranges.count == SequenceRanges.rangesMax)
        #expect(many.contains(5))
    }

    @Test("the saved text is read again, and what is no range in it is passed over")
    func saved() throws {
        let some = ranges([4, 5, 8])
        #expect(SequenceRanges(some.json) == some)
        let strange = try JSONValue(parsing: Array(#"[[1,2],[3],7,[9,8],[-1,4],["a",5],[0,3],[5,6]]"#.utf8))
        #expect(SequenceRanges(strange).ranges == [1...2, 5...6])
        #expect(SequenceRanges(nil).ranges == [])
    }

    @Test("a document that had a change of its own is still to be sent, whatever came after it")
    func received() {
        var changes = ReceivedChanges()
        changes.note(11, after: 0)
        changes.note(12, after: 3)
        changes.note(13, after: 8)
        changes.note(14, after: 11)
        changes.note(15, after: 12)
        changes.note(16, after: 9)
        var known = SequenceRanges()
        known.insert(9)
        #expect(changes.sequences(through: 5, known: known).ranges == [9...9, 11...12, 14...16])
    }
}
