import CCurl
import CLinux
import Glibc
import KithDocuments
import Synchronization

/// The isolation of everything that makes requests of HTTP: one thread, apart from the event loop, on which libcurl runs and
/// what it brings is taken apart. It begins with the first request.
///
/// Such code must not block: every request of the process waits while it runs.
@globalActor
public actor HTTPClientActor {
    /// The actor's only instance.
    public static let shared = HTTPClientActor()

    /// The thread.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        HTTPClientThread.shared.asUnownedSerialExecutor()
    }

    /// Runs `body` at once, as isolated code; traps when the caller is not on the thread. For callbacks from C.
    nonisolated static func assumeIsolated<T>(_ body: @HTTPClientActor () throws -> T) rethrows -> T {
        HTTPClientThread.shared.checkIsolated()
        // Proof: as in `LoopActor.assumeIsolated`. The thread is the only one that runs code isolated to this actor, and the
        // line above has shown that this is that thread.
        return try withoutActuallyEscaping(body) { isolated in
            try unsafeBitCast(isolated, to: (() throws -> T).self)()
        }
    }

    /// Runs `body` on the thread, soon; may be called from any thread. What one thread posts runs in its order.
    public nonisolated static func post(_ body: @escaping @HTTPClientActor @Sendable () -> Void) {
        HTTPClientThread.shared.submit(.call(body))
    }

    /// Runs `body` once after `seconds` (not before), unless cancelled.
    @HTTPClientActor @discardableResult
    public static func schedule(
        afterSeconds seconds: Double, _ body: @escaping @HTTPClientActor () -> Void
    ) -> HTTPClientTimer {
        let timer = HTTPClientTimer(
            deadlineNanoseconds: EventLoop.monotonicNanoseconds + UInt64(max(0, min(seconds, 1e9)) * 1e9), body: body)
        HTTPClientThread.shared.timers.append(timer)
        return timer
    }
}
