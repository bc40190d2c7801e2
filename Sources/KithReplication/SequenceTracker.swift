/// Knows up to which sequence everything is done, while the parts finish in any order.
///
/// Sequences are added in the order in which they were announced, each with the number of revisions that it waits for.
/// `completed` is the last sequence before the earliest unfinished one, which is what a checkpoint may claim.
struct SequenceTracker<Sequence> {
    private struct Entry {
        let sequence: Sequence
        var open: Int
    }

    /// Everything up to here is done; `nil` when nothing was done yet.
    private(set) var completed: Sequence?
    private var entries: [Entry] = []
    /// Entries before this index are done and gone; the array is shortened now and then.
    private var head = 0
    /// The position of `entries[0]` since the beginning. Tickets are positions, so they stay valid.
    private var base = 0

    init(completed: Sequence?) { self.completed = completed }

    /// The number of sequences that are not done, those behind an unfinished one included.
    var count: Int { entries.count - head }

    /// Adds the next sequence and gives a ticket for its revisions.
    mutating func add(_ sequence: Sequence, open: Int) -> Int {
        entries.append(Entry(sequence: sequence, open: open))
        let ticket = base + entries.count - 1
        if open == 0 { advance() }
        return ticket
    }

    /// Says that one more revision of this sequence is awaited.
    mutating func open(_ ticket: Int) {
        entries[ticket - base].open += 1
    }

    /// Says that one revision of this sequence is done.
    mutating func close(_ ticket: Int) {
        guard ticket >= base + head else { return }
        entries[ticket - base].open -= 1
        if ticket == base + head { advance() }
    }

    private mutating func advance() {
        while head < entries.count, entries[head].open <= 0 {
            completed = entries[head].sequence
            head += 1
        }
        if head > 1_024, head * 2 > entries.count {
            entries.removeFirst(head)
            base += head
            head = 0
        }
    }
}
