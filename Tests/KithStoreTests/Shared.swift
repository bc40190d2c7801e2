import Glibc

/// A value that several threads of a test look at and change.
///
/// Behind a lock from POSIX and not `Synchronization.Mutex`, which the thread sanitizer does not see.
///
/// `@unchecked Sendable`: `value` is only touched under the lock, and the pointer never changes.
final class Shared<Value: Sendable>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var value: Value

    init(_ value: Value) {
        self.value = value
        mutex = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    func withLock<Result: Sendable>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }
}
