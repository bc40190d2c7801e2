import Glibc

/// State behind a lock, with the means to wait until it has become what one needs.
///
/// `Synchronization.Mutex` has no condition variable, and the thread sanitizer does not see it: hence this pair from POSIX.
///
/// `@unchecked Sendable`: `state` is only touched between lock and unlock of `mutex`, and the two pointers never change.
/// This object owns both POSIX objects; nobody can wait in them when it goes away, since waiting keeps it alive.
final class Monitor<State: Sendable>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var state: State

    /// Who is woken after a change. Waking threads that find nothing to do costs more than most changes.
    enum Wake {
        case all
        /// One of those that wait; right only where all of them wait for the same, and one is enough.
        case one
        /// Right only where nobody waits for what was changed.
        case nobody
    }

    init(_ state: State) {
        self.state = state
        mutex = .allocate(capacity: 1)
        condition = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        // Timed waits must not end early or late because somebody sets the clock.
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Looks at or changes the state, then wakes who waits for a change of it. No waiting or foreign code inside.
    func update<Result>(waking wake: Wake = .all, _ body: (inout State) throws -> Result) rethrows -> Result {
        pthread_mutex_lock(mutex)
        // Unlocked first, so that who is woken need not wait for the lock.
        defer {
            pthread_mutex_unlock(mutex)
            switch wake {
            case .all: pthread_cond_broadcast(condition)
            case .one: pthread_cond_signal(condition)
            case .nobody: break
            }
        }
        return try body(&state)
    }

    /// Waits until `attempt`, called under the lock at once and after each change, gives a result.
    func wait<Result>(until attempt: (inout State) throws -> Result?) rethrows -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let result = try attempt(&state) {
                // What the attempt changed may be what another waiter waits for.
                pthread_cond_broadcast(condition)
                return result
            }
            pthread_cond_wait(condition, mutex)
        }
    }

    /// Waits until `attempt` gives a result, as `wait(until:)` does, and calls it again after a time as well.
    ///
    /// - Parameters:
    ///   - patience: how long, in milliseconds; asked before each wait, nil for as long as it takes.
    ///   - attempt: as for `wait(until:)`.
    func wait<Result>(
        patience: (State) -> Int64?, until attempt: (inout State) throws -> Result?
    ) rethrows -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let result = try attempt(&state) {
                pthread_cond_broadcast(condition)
                return result
            }
            guard let milliseconds = patience(state) else {
                pthread_cond_wait(condition, mutex)
                continue
            }
            var end = timespec()
            clock_gettime(CLOCK_MONOTONIC, &end)
            end.tv_sec += Int(milliseconds / 1000)
            end.tv_nsec += Int(milliseconds % 1000) * 1_000_000
            if end.tv_nsec >= 1_000_000_000 {
                end.tv_sec += 1
                end.tv_nsec -= 1_000_000_000
            }
            pthread_cond_timedwait(condition, mutex, &end)
        }
    }
}
