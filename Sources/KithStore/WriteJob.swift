import KithDocuments

/// A body to run in a transaction, and whom to tell: one element of the writer's queue.
struct WriteJob: Sendable {
    /// Runs the body.
    let perform: @Sendable (WriteTransaction) -> Performed
    /// Tells that the body was not run.
    let fail: @Sendable (any Error) -> Void
    /// Whether success is told only when it is on the disk.
    let waitsForDisk: Bool

    /// A body that was run.
    struct Performed {
        /// What the body threw.
        var error: (any Error)?
        /// Tells the result, or the error that came after it: nil means that the result is committed.
        let complete: ((any Error)?) -> Void
    }

    init<T: Sendable>(
        _ body: @escaping @Sendable (WriteTransaction) throws -> T,
        _ completion: @escaping @Sendable (Result<T, any Error>) -> Void, waitsForDisk: Bool = true
    ) {
        self.waitsForDisk = waitsForDisk
        perform = { transaction in
            do {
                let result = try body(transaction)
                return Performed(error: nil) { laterError in
                    completion(laterError.map { .failure($0) } ?? .success(result))
                }
            } catch {
                return Performed(error: error) { laterError in completion(.failure(laterError ?? error)) }
            }
        }
        fail = { completion(.failure($0)) }
    }
}
