import Glibc

/// Closed at first; who comes waits until it is open.
///
/// `@unchecked Sendable`: the pointer never changes, and a semaphore is made for several threads.
final class ProbeGate: @unchecked Sendable {
    private let semaphore: UnsafeMutablePointer<sem_t>

    init() {
        semaphore = .allocate(capacity: 1)
        sem_init(semaphore, 0, 0)
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func open() { sem_post(semaphore) }

    func wait() {
        while sem_wait(semaphore) != 0 {}
        sem_post(semaphore)
    }
}
