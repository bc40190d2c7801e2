/// The isolation of everything that touches the network: code isolated to it runs on the event loop's one thread.
///
/// ```swift
/// Task { @LoopActor in
///     let connection = Connection.dial(address, tls: context)
///     connection.onReceive = { bytes in … }
/// }
/// ```
///
/// Such code must not block: every connection of the process waits while it runs.
@globalActor
public actor LoopActor {
    /// The actor's only instance.
    public static let shared = LoopActor()

    /// The event loop itself.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        EventLoop.shared.serialExecutor.asUnownedSerialExecutor()
    }

    /// Runs `body` at once, as isolated code; traps when the caller is not on the loop's thread.
    ///
    /// For callbacks from code that the compiler cannot follow, such as C.
    public nonisolated static func assumeIsolated<T>(_ body: @LoopActor () throws -> T) rethrows -> T {
        EventLoop.shared.checkIsolated()
        // Proof. The loop's thread is the only one that runs code isolated to this actor: the executor's jobs are
        // drained by that thread alone, one after the other, and the line above has shown that this is that thread.
        // So nothing else isolated runs now, and dropping the isolation from the function's type changes only what
        // the compiler checks. The standard library does the same in `MainActor.assumeIsolated`.
        return try withoutActuallyEscaping(body) { isolated in
            try unsafeBitCast(isolated, to: (() throws -> T).self)()
        }
    }
}
