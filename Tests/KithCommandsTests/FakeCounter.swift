import Synchronization

/// Counts the calls of a handler.
final class FakeCounter: Sendable {
    private let count = Mutex(0)

    /// 1 at the first call.
    func next() -> Int {
        count.withLock {
            $0 += 1
            return $0
        }
    }
}
