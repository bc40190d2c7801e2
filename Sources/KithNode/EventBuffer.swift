import Synchronization

/// Keeps events for one reader, a bounded number of them: who is slow loses the oldest and is told how many. Adding never waits.
final class EventBuffer<Event: Sendable>: Sendable {
    /// What a reader gets.
    enum Item: Sendable {
        case event(Event)
        /// So many were dropped before the next event.
        case lost(Int)
    }

    private struct State {
        var events: [Event] = []
        var head = 0
        var lost = 0
        var isClosed = false
        var waiter: CheckedContinuation<Void, Never>?

        var count: Int { events.count - head }
    }

    private let countMax: Int
    private let state = Mutex(State())

    init(countMax: Int) { self.countMax = countMax }

    /// Adds an event; the oldest goes where there is no room.
    func add(_ event: Event) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard !state.isClosed else { return nil }
            if state.count >= countMax {
                state.head += 1
                state.lost += 1
            }
            if state.head > countMax {
                state.events.removeFirst(state.head)
                state.head = 0
            }
            state.events.append(event)
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    /// Nothing more comes; what is there can still be read.
    func close() {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.isClosed = true
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    /// The next item, or nil when nothing more comes, or the task was cancelled. One reader at a time.
    func next() async -> Item? {
        while !Task.isCancelled {
            let taken = state.withLock { state -> (item: Item?, isOver: Bool) in
                if state.lost > 0 {
                    defer { state.lost = 0 }
                    return (.lost(state.lost), false)
                }
                guard state.count > 0 else { return (nil, state.isClosed) }
                let event = state.events[state.head]
                state.head += 1
                if state.head == state.events.count {
                    state.events.removeAll(keepingCapacity: true)
                    state.head = 0
                }
                return (.event(event), false)
            }
            if let item = taken.item { return item }
            if taken.isOver { return nil }
            await wait()
        }
        return nil
    }

    private func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state -> Bool in
                    if state.count > 0 || state.isClosed || Task.isCancelled { return true }
                    state.waiter = continuation
                    return false
                }
                if isReady { continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
                defer { state.waiter = nil }
                return state.waiter
            }
            waiter?.resume()
        }
    }
}
