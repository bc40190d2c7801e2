import CLinux
import Glibc
import KithDocuments

extension EventLoop {
    /// Runs slow work on a thread of its own, which leaves the processor to all others: the system's threads, of which there are as many
    /// as cores, stay free.
    ///
    /// - Throws: what `body` throws; `.busy` when the system has no thread to give.
    public nonisolated static func apart<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            let started = ApartThread.start { continuation.resume(with: Result { try body() }) }
            guard !started else { return }
            continuation.resume(throwing: KithError(.busy, "the system has no thread to give; try again in a moment"))
        }
    }
}

/// A thread that runs one thing.
private final class ApartThread: Sendable {
    private let body: @Sendable () -> Void

    private init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    /// - Returns: whether the system had a thread to give.
    static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
        // The new thread takes this reference over; when there is none, it is given back here.
        let thread = Unmanaged.passRetained(ApartThread(body))
        guard kith_start_thread(runApartThread, thread.toOpaque()) == 0 else {
            thread.release()
            return false
        }
        return true
    }

    fileprivate static func run(_ argument: UnsafeMutableRawPointer) {
        kith_name_thread("kith-apart")
        // Linux has this for each thread.
        _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 5)
        Unmanaged<ApartThread>.fromOpaque(argument).takeRetainedValue().body()
    }
}

/// The thread's function, free because C calls it.
private func runApartThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let argument { ApartThread.run(argument) }
    return nil
}
