/// Tells long work that it shall end: by its own looking between steps, and by interrupting the statement that runs.
final class StopSignal: Sendable {
    private struct State: Sendable {
        var reason: (any Error)?
        var connection: SQLiteConnection?
    }

    private let state = Monitor(State())

    /// Ends the work with this error, unless it was told to end before.
    func stop(_ reason: any Error) {
        state.update { state in
            if state.reason == nil { state.reason = reason }
            state.connection?.interrupt()
        }
    }

    /// - Throws: why the work shall end.
    func check() throws {
        if let reason = state.update({ $0.reason }) { throw reason }
    }

    /// Runs statements that may take long on a connection, which `stop` interrupts.
    ///
    /// - Throws: why the work shall end; what `body` throws.
    func interrupting<Result>(_ connection: SQLiteConnection, _ body: () throws -> Result) throws -> Result {
        try state.update { state in
            if let reason = state.reason { throw reason }
            state.connection = connection
        }
        // Under the lock: nobody interrupts the connection once it is used for something else.
        defer { state.update { $0.connection = nil } }
        do {
            return try body()
        } catch {
            try check()
            throw error
        }
    }
}
