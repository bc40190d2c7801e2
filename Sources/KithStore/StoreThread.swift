import CLinux
import Glibc

/// Threads of the store's own: detached, named, and with every signal blocked, since signals belong to the program.
enum StoreThread {
    /// What a new thread runs; owned by the thread from its start.
    private final class Start: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// Starts a thread that runs `body` once.
    ///
    /// - Returns: whether the system had a thread to give.
    static func start(name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
        // The new thread takes this reference over; when there is none, it is given back here.
        let start = Unmanaged.passRetained(
            Start {
                kith_name_thread(name)
                body()
            })
        guard kith_start_thread(runStoreThread, start.toOpaque()) == 0 else {
            start.release()
            return false
        }
        return true
    }

    fileprivate static func run(_ argument: UnsafeMutableRawPointer) {
        Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().body()
    }
}

private func runStoreThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let argument { StoreThread.run(argument) }
    return nil
}
