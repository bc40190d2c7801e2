import Synchronization

/// Keeps the lines of a node's log, and lets a test wait for one.
final class LineLog: Sendable {
    private struct State {
        var lines: [String] = []
        var waiter: (wanted: @Sendable (String) -> Bool, continuation: CheckedContinuation<Void, Never>)?
    }

    private let state = Mutex(State())

    func add(_ line: String) {
        let woken = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.lines.append(line)
            guard let waiter = state.waiter, waiter.wanted(line) else { return nil }
            state.waiter = nil
            return waiter.continuation
        }
        woken?.resume()
    }

    /// Waits until a line was written that is wanted; one waiter at a time.
    func until(_ wanted: @escaping @Sendable (String) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.lines.contains(where: wanted) { return true }
                state.waiter = (wanted, continuation)
                return false
            }
            if isThere { continuation.resume() }
        }
    }
}
