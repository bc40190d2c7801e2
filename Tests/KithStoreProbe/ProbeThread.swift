import Glibc

/// A thread that can be waited for. An error that it does not catch ends the program.
struct ProbeThread {
    struct NoThread: Error {}

    private final class Start: Sendable {
        let body: @Sendable () throws -> Void
        init(_ body: @escaping @Sendable () throws -> Void) { self.body = body }
    }

    private var thread = pthread_t()

    init(_ body: @escaping @Sendable () throws -> Void) throws {
        let start = Unmanaged.passRetained(Start(body))
        let code = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                do {
                    try Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().body()
                } catch {
                    printError("\(error)")
                    exit(1)
                }
                return nil
            }, start.toOpaque())
        guard code == 0 else {
            start.release()
            throw NoThread()
        }
    }

    func join() { pthread_join(thread, nil) }
}
