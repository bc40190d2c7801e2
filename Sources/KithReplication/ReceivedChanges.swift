/// What came from a peer into a collection while nothing was sent to it: these documents are not to be sent, although no link
/// has looked.
public struct ReceivedChanges: Sendable {
    private var new = SequenceRanges()
    /// Documents that were here before, with the sequence that they had.
    private var changed: [(sequence: UInt64, previous: UInt64)] = []

    /// Beyond, it is left to the next link to find out; each takes 16 bytes.
    static let changedMax = 10_000

    init() {}

    /// Notes what was stored.
    ///
    /// - Parameters:
    ///   - sequence: what its document has now.
    ///   - previous: what the document had before; 0: it was not there.
    mutating func note(_ sequence: UInt64, after previous: UInt64) {
        if previous == 0 || new.contains(previous) {
            new.insert(sequence)
        } else if changed.count < Self.changedMax {
            changed.append((sequence, previous))
        }
    }

    /// Those under which nothing lies that the peer does not have: it had the document as it was before, or there was none.
    ///
    /// - Parameters:
    ///   - through: the sequence up to which the peer has everything.
    ///   - known: such sequences behind that from before.
    /// - Returns: `known` with those that were added.
    public func sequences(through: UInt64, known: SequenceRanges) -> SequenceRanges {
        var all = known
        for range in new.ranges { all.insert(range) }
        for (sequence, previous) in changed where previous <= through || all.contains(previous) { all.insert(sequence) }
        return all
    }
}
