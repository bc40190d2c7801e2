import KithDocuments
import KithStore
import Testing

@Suite("Store: the bound on waiting writes")
struct QueueLimitTests {
    @Test("one write too many fails at once as busy, those that wait are done, and then there is room again")
    func busy() throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder, options: DatabaseOptions(isDurable: false))
        defer { database.close() }
        let started = Gate()
        let gate = Gate()
        database.submitWrite(
            { _ in
                started.open()
                gate.wait()
            }, completion: { _ in })
        started.wait()
        let done = Shared(0)
        for _ in 0..<StoreLimits.queuedWritesMax {
            database.submitWrite({ _ in }) { result in
                if case .success = result { done.withLock { $0 += 1 } }
            }
        }
        #expect(database.queuedWriteCount == StoreLimits.queuedWritesMax)
        let error = #expect(throws: KithError.self) { try database.writeBlocking { _ in } }
        #expect(error?.code == .busy)
        #expect(error?.code.isRetryable == true)
        #expect(database.queuedWriteCount == StoreLimits.queuedWritesMax)
        gate.open()
        // Until there is room, and then behind all others.
        while code({ try database.writeBlocking { _ in } }) == .busy {}
        #expect(done.withLock { $0 } == StoreLimits.queuedWritesMax)
    }
}
