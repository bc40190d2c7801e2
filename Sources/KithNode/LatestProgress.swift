import KithStore
import Synchronization

/// How far long work is, as its own thread last said: whoever tells it to somebody looks now and then, and misses what
/// came in between.
final class LatestProgress: Sendable {
    private let state = Mutex<MaintenanceProgress?>(nil)

    func set(_ progress: MaintenanceProgress) { state.withLock { $0 = progress } }

    /// What was said since the last call.
    func take() -> MaintenanceProgress? {
        state.withLock { state in
            defer { state = nil }
            return state
        }
    }
}
