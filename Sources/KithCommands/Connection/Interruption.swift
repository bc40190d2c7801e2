import Glibc
import Synchronization

/// Notices SIGINT and SIGTERM in commands that must put the terminal in order before they end.
///
/// Off until `begin` is called; until then the two signals end the process as usual.
enum Interruption {
    private static let descriptorInUse = Atomic<Int32>(-1)
    private static let pendingSignal = Atomic<Int32>(0)

    /// Becomes readable when a signal has come; -1 while nobody asked.
    static var descriptor: Int32 { descriptorInUse.load(ordering: .acquiring) }

    /// The signal that came, or 0.
    static var signal: Int32 { pendingSignal.load(ordering: .acquiring) }

    /// The signal that came, which then counts as handled: what is asked of the node afterwards is not interrupted.
    static func take() -> Int32 { pendingSignal.exchange(0, ordering: .acquiringAndReleasing) }

    /// From now on the two signals are only noted.
    static func begin() {
        guard descriptor < 0 else { return }
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        interruptionPipe.store(ends[1], ordering: .releasing)
        descriptorInUse.store(ends[0], ordering: .releasing)
        var action = sigaction()
        action.__sigaction_handler.sa_handler = noteInterruption
        sigaction(SIGINT, &action, nil)
        sigaction(SIGTERM, &action, nil)
    }

    fileprivate static func note(_ signal: Int32) { pendingSignal.store(signal, ordering: .releasing) }
}

/// The writing end of the pipe, touched by `Interruption.begin` before a signal can come, so that the handler finds it
/// initialised.
private let interruptionPipe = Atomic<Int32>(-1)

/// The signal handler: only an atomic store and write(2), both async-signal-safe; owned by nobody, never removed.
private func noteInterruption(_ signal: Int32) {
    let savedError = errno
    Interruption.note(signal)
    var byte: UInt8 = 1
    _ = write(interruptionPipe.load(ordering: .acquiring), &byte, 1)
    errno = savedError
}
