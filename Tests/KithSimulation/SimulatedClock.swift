import Synchronization

/// The wall clock of a node's store, which can be set wrong.
final class SimulatedClock: Sendable {
    private let value = Mutex<Int64>(0)

    var milliseconds: Int64 {
        get { value.withLock { $0 } }
        set { value.withLock { $0 = newValue } }
    }
}
