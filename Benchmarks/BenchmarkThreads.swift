import Glibc
import KithDocuments
import Synchronization

/// Several threads that do the same.
enum BenchmarkThreads {
    private final class Start: Sendable {
        let number: Int
        let work: @Sendable (Int) throws -> Void
        let failure = Mutex<(any Error)?>(nil)

        init(_ number: Int, _ work: @escaping @Sendable (Int) throws -> Void) {
            self.number = number
            self.work = work
        }
    }

    /// Runs the work on so many threads and waits for all.
    static func run(_ count: Int, _ work: @escaping @Sendable (Int) throws -> Void) throws {
        let starts = (0..<count).map { Start($0, work) }
        var threads: [pthread_t] = []
        for start in starts {
            var thread = pthread_t()
            let code = pthread_create(
                &thread, nil,
                { argument in
                    guard let argument else { return nil }
                    let start = Unmanaged<Start>.fromOpaque(argument).takeUnretainedValue()
                    do {
                        try start.work(start.number)
                    } catch {
                        start.failure.withLock { $0 = error }
                    }
                    return nil
                }, Unmanaged.passUnretained(start).toOpaque())
            if code == 0 { threads.append(thread) }
        }
        for thread in threads { pthread_join(thread, nil) }
        guard threads.count == count else { throw KithError(.inputOutput, "the system has no thread") }
        for start in starts { if let error = start.failure.withLock({ $0 }) { throw error } }
    }
}
