import KithDocuments

/// The checks, compactions and backups of a database that are under way: each on a thread of its own, since it takes long
/// and belongs neither to the writer nor to the readers.
final class Maintenance: Sendable {
    private struct State: Sendable {
        var running: [ObjectIdentifier: StopSignal] = [:]
        var isClosing = false
    }

    private let databaseName: String
    private let mode: DatabaseOptions.Writer
    private let state = Monitor(State())

    init(databaseName: String, mode: DatabaseOptions.Writer) {
        self.databaseName = databaseName
        self.mode = mode
    }

    /// Runs `body` until it ends, the task is cancelled or the database is closed.
    ///
    /// - Throws: `.closed`; `CancellationError`; `.inputOutput` when there is no thread; what `body` throws.
    func run<T: Sendable>(_ body: @escaping @Sendable (StopSignal) throws -> T) async throws -> T {
        let signal = StopSignal()
        let isTaken = state.update { state in
            if !state.isClosing { state.running[ObjectIdentifier(signal)] = signal }
            return !state.isClosing
        }
        guard isTaken else { throw KithError.closed(databaseName) }
        return try await Self.run(signal, onThread: mode == .thread) { [self] in
            defer { state.update { _ = $0.running.removeValue(forKey: ObjectIdentifier(signal)) } }
            return try body(signal)
        }
    }

    /// Runs `body` on a thread of its own, or at once, until it ends; a cancelled task stops it by its signal.
    static func run<T: Sendable>(
        _ signal: StopSignal, onThread: Bool, _ body: @escaping @Sendable () throws -> T
    ) async throws -> T {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<T, any Error>) in
                let run: @Sendable () -> Void = { continuation.resume(with: Result { try body() }) }
                if onThread, StoreThread.start(name: "kith-maintain", run) { return }
                // Where the caller does all work, or the system has no thread to give.
                run()
            }
        } onCancel: {
            signal.stop(CancellationError())
        }
    }

    /// Stops all that is under way and takes nothing further.
    func beginClosing() {
        let running = state.update { state in
            state.isClosing = true
            return Array(state.running.values)
        }
        for signal in running { signal.stop(KithError.closed(databaseName)) }
    }

    /// Waits until nothing is under way.
    func waitUntilClosed() {
        state.wait { $0.running.isEmpty ? () : nil }
    }
}
