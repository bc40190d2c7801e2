import KithDocuments

/// Connections for reading, and the threads that run submitted reads.
///
/// A read on the calling thread never waits for another read: where no idle connection is left, one more is opened, and
/// closed again afterwards. So a read inside a read cannot wait for itself.
final class ReaderPool: Sendable {
    /// Where connections come from.
    enum Source: Sendable {
        case file(path: String, vfsName: String?)
        /// A database in memory has only one connection.
        case shared(ExclusiveConnection)
    }

    private struct ReadJob: Sendable {
        let run: @Sendable () -> Void
        let fail: @Sendable (any Error) -> Void
    }

    private enum Next { case refuse, wait, startThread }

    private struct State: Sendable {
        var idle: [SQLiteConnection] = []
        var readsUnderWay = 0
        var jobs = FirstInFirstOut<ReadJob>()
        var threadCount = 0
        var idleThreadCount = 0
        var isClosing = false
    }

    private let databaseName: String
    private let mode: DatabaseOptions.Writer
    private let source: Source
    private let readersMax: Int
    private let state = Monitor(State())

    init(databaseName: String, mode: DatabaseOptions.Writer, source: Source, readersMax: Int) {
        self.databaseName = databaseName
        self.mode = mode
        self.source = source
        self.readersMax = readersMax
    }

    /// Runs a read on the calling thread, in one snapshot.
    func read<T>(_ body: (Snapshot) throws -> T) throws -> T {
        // Nobody waits for fewer connections or more reads.
        let idle: SQLiteConnection? = try state.update(waking: .nobody) { state in
            if state.isClosing { throw KithError.closed(databaseName) }
            state.readsUnderWay += 1
            return state.idle.popLast()
        }
        switch source {
        case .shared(let connection):
            defer { state.update { $0.readsUnderWay -= 1 } }
            return try connection.use { try Self.read(on: $0, body) }
        case .file(let path, let vfsName):
            var connection = idle
            defer { giveBack(connection) }
            if connection == nil { connection = try open(path, vfsName) }
            guard let connection else { throw KithError.closed(databaseName) }
            return try Self.read(on: connection, body)
        }
    }

    /// Runs a read on a reader thread, or at once where the caller does all work.
    func submit<T: Sendable>(
        _ body: @escaping @Sendable (Snapshot) throws -> T,
        _ completion: @escaping @Sendable (Result<T, any Error>) -> Void
    ) {
        if mode == .caller {
            completion(Result { try read(body) })
            return
        }
        let job = ReadJob(
            run: { [self] in completion(Result { try read(body) }) },
            fail: { completion(.failure($0)) })
        // Those that wait are reader threads: who waits for the end does so when nothing is taken any more.
        let next: Next = state.update(waking: .one) { state in
            if state.isClosing { return .refuse }
            state.jobs.append(job)
            // A thread that has been woken but not yet run still counts as idle, hence the comparison.
            if state.idleThreadCount >= state.jobs.count || state.threadCount >= readersMax { return .wait }
            state.threadCount += 1
            return .startThread
        }
        switch next {
        case .refuse:
            job.fail(KithError.closed(databaseName))
        case .wait:
            break
        case .startThread:
            if !StoreThread.start(name: "kith-reader", { self.runThread() }) { threadDidNotStart() }
        }
    }

    /// Ends it: queued reads fail, reads under way end by themselves.
    func beginClosing() {
        let (jobs, idle) = state.update { state in
            state.isClosing = true
            var jobs: [ReadJob] = []
            while let job = state.jobs.take() { jobs.append(job) }
            let idle = state.idle
            state.idle = []
            return (jobs, idle)
        }
        for connection in idle { connection.close() }
        for job in jobs { job.fail(KithError.closed(databaseName)) }
    }

    /// Waits for the reads under way.
    func waitUntilClosed() {
        state.wait { $0.readsUnderWay == 0 ? () : nil }
    }

    private func giveBack(_ connection: SQLiteConnection?) {
        // As long as it is not closing, nobody waits for the end of a read.
        let isKept = state.update(waking: .nobody) { state in
            guard let connection, !state.isClosing, state.idle.count < readersMax else { return false }
            state.idle.append(connection)
            state.readsUnderWay -= 1
            return true
        }
        if isKept { return }
        // Before the read counts as ended: the last connection removes the log by its name, which may be that of another
        // database's once the closing of this one has been reported.
        connection?.close()
        state.update { $0.readsUnderWay -= 1 }
    }

    private func open(_ path: String, _ vfsName: String?) throws(KithError) -> SQLiteConnection {
        let connection = try SQLiteConnection(
            path: path, databaseName: databaseName, mayCreate: false, vfsName: vfsName)
        try connection.configure(.reader)
        return connection
    }

    private static func read<T>(on connection: SQLiteConnection, _ body: (Snapshot) throws -> T) throws -> T {
        connection.trimStatements()
        // The snapshot is fixed by the first statement that reads.
        try connection.run(.begin)
        let snapshot = Snapshot(connection)
        defer {
            snapshot.end()
            // Nothing was written, so there is nothing that could fail and matter.
            try? connection.run(.commit)
            if connection.isInTransaction { try? connection.run(.rollback) }
        }
        return try body(snapshot)
    }

    private func runThread() {
        while true {
            let job: ReadJob? = takeOrWait()
            guard let job else { return }
            job.run()
        }
    }

    private func takeOrWait() -> ReadJob? {
        var isCountedIdle = false
        return state.wait { state in
            if let job = state.jobs.take() {
                if isCountedIdle { state.idleThreadCount -= 1 }
                return .some(job)
            }
            if state.isClosing {
                if isCountedIdle { state.idleThreadCount -= 1 }
                state.threadCount -= 1
                return .some(nil)
            }
            if !isCountedIdle {
                isCountedIdle = true
                state.idleThreadCount += 1
            }
            return nil
        }
    }

    private func threadDidNotStart() {
        let jobs: [ReadJob] = state.update { state in
            state.threadCount -= 1
            var jobs: [ReadJob] = []
            // Other threads of the pool will take what waits.
            while state.threadCount == 0, let job = state.jobs.take() { jobs.append(job) }
            return jobs
        }
        for job in jobs {
            job.fail(KithError(.inputOutput, "The system has no thread for reading database \(databaseName)"))
        }
    }
}
