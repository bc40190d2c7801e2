import Synchronization

/// What the threads of the role `share` have done together.
final class SharedCounts: Sendable {
    private let state = Mutex((added: 0, conflicts: 0, longestMilliseconds: 0))

    var values: (added: Int, conflicts: Int, longestMilliseconds: Int) { state.withLock { $0 } }

    func add(_ added: Int, _ conflicts: Int, _ milliseconds: Double) {
        state.withLock { state in
            state.added += added
            state.conflicts += conflicts
            state.longestMilliseconds = max(state.longestMilliseconds, Int(milliseconds))
        }
    }
}
