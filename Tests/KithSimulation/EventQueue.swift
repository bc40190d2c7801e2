/// Events by time, and in the order of their making at the same time: a binary heap.
struct EventQueue<Event> {
    private struct Item {
        let seconds: Double
        let order: UInt64
        let event: Event
        func isBefore(_ other: Item) -> Bool {
            seconds != other.seconds ? seconds < other.seconds : order < other.order
        }
    }

    private var heap: [Item] = []
    private var nextOrder: UInt64 = 0

    var isEmpty: Bool { heap.isEmpty }
    var nextSeconds: Double? { heap.first?.seconds }

    mutating func add(_ event: Event, at seconds: Double) {
        heap.append(Item(seconds: seconds, order: nextOrder, event: event))
        nextOrder += 1
        var child = heap.count - 1
        while child > 0, heap[child].isBefore(heap[(child - 1) / 2]) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func removeFirst() -> (seconds: Double, event: Event)? {
        guard let first = heap.first else { return nil }
        let last = heap.removeLast()
        if !heap.isEmpty {
            heap[0] = last
            var parent = 0
            while true {
                var least = parent
                for child in [2 * parent + 1, 2 * parent + 2]
                where child < heap.count && heap[child].isBefore(heap[least]) {
                    least = child
                }
                if least == parent { break }
                heap.swapAt(parent, least)
                parent = least
            }
        }
        return (first.seconds, first.event)
    }
}
