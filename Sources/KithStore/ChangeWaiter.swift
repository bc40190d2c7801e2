/// One result for one task that waits: the first that comes counts.
final class ChangeWaiter: Sendable {
    private enum State: Sendable {
        case idle
        case waiting(CheckedContinuation<UInt64, any Error>)
        case done(Result<UInt64, any Error>)
    }

    private let state = Monitor(State.idle)

    /// Gives the result, unless there is one already.
    func finish(_ result: Result<UInt64, any Error>) {
        let continuation: CheckedContinuation<UInt64, any Error>? = state.update { state in
            switch state {
            case .done:
                return nil
            case .idle:
                state = .done(result)
                return nil
            case .waiting(let continuation):
                state = .done(result)
                return continuation
            }
        }
        continuation?.resume(with: result)
    }

    /// Waits for the result; only once.
    func result() async throws -> UInt64 {
        try await withCheckedThrowingContinuation { continuation in
            let result: Result<UInt64, any Error>? = state.update { state in
                if case .done(let result) = state { return result }
                state = .waiting(continuation)
                return nil
            }
            if let result { continuation.resume(with: result) }
        }
    }
}
