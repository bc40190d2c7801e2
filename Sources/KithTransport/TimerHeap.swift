/// The pending timers, the next one first: a binary heap in which each timer knows its place, so that cancelling is
/// O(log n) and a cancelled timer takes no memory.
@LoopActor
struct TimerHeap {
    private var timers: [LoopTimer] = []
    /// The order number given last; breaks ties between equal deadlines.
    private(set) var lastOrder: UInt64 = 0

    nonisolated init() {}

    var first: LoopTimer? { timers.first }
    var count: Int { timers.count }

    mutating func insert(_ timer: LoopTimer) {
        lastOrder += 1
        timer.order = lastOrder
        timer.index = timers.count
        timers.append(timer)
        moveUp(timer.index)
    }

    mutating func remove(_ timer: LoopTimer) {
        let index = timer.index
        guard index >= 0 else { return }
        let last = timers.removeLast()
        timer.index = -1
        guard index < timers.count else { return }
        timers[index] = last
        last.index = index
        moveUp(index)
        moveDown(last.index)
    }

    private func isBefore(_ a: Int, _ b: Int) -> Bool {
        let (x, y) = (timers[a], timers[b])
        return x.deadline != y.deadline ? x.deadline < y.deadline : x.order < y.order
    }

    private mutating func exchange(_ a: Int, _ b: Int) {
        timers.swapAt(a, b)
        timers[a].index = a
        timers[b].index = b
    }

    private mutating func moveUp(_ start: Int) {
        var index = start
        while index > 0, isBefore(index, (index - 1) / 2) {
            exchange(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    private mutating func moveDown(_ start: Int) {
        var index = start
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2] where child < timers.count && isBefore(child, least) {
                least = child
            }
            if least == index { return }
            exchange(index, least)
            index = least
        }
    }
}
