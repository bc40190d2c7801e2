import Glibc

/// Closed at first; who comes waits until it is open.
///
/// `@unchecked Sendable`: the pointer never changes, and a semaphore is made for several threads.
final class Gate: @unchecked Sendable {
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

    /// Waits without keeping a thread of the tasks' own: they are as few as the machine has cores, and who opens the gate
    /// may be a task that needs one.
    func waitInTask() async {
        while sem_trywait(semaphore) != 0 { try? await Task.sleep(for: .milliseconds(1)) }
        sem_post(semaphore)
    }
}
