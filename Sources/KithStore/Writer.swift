import Glibc
import KithDocuments

/// The one writer of a database: takes all bodies that wait into one transaction, commits once, then tells all of them.
///
/// A body that throws undoes only itself. Nobody is told of success before the commit is on the disk; if the commit
/// fails, nobody is. The first body of a transaction needs no savepoint: if it throws, the transaction is rolled back,
/// which holds nothing else then.
///
/// What need not wait for the disk has transactions of its own, or comes along in one that does.
final class Writer: Sendable {
    private struct State: Sendable {
        var jobs = FirstInFirstOut<WriteJob>()
        /// Whether a thread works through the queue or waits at it.
        var isRunning = false
        var runner: pthread_t?
        var isClosing = false
        /// When something is to be done that nobody asks for, in milliseconds since 1970; nil when nothing is.
        var housekeepingDue: Int64?
        /// Whether another process may have committed.
        var mustLook = false
    }

    private let databaseName: String
    private let mode: DatabaseOptions.Writer
    private let connection: ExclusiveConnection
    private let observers: Observers
    private let clock: @Sendable () -> Int64
    private let bell: DatabaseBell?
    /// Nil in memory.
    let logMover: LogMover?
    private let state = Monitor(State())

    init(
        databaseName: String, mode: DatabaseOptions.Writer, connection: ExclusiveConnection, observers: Observers,
        clock: @escaping @Sendable () -> Int64, bell: DatabaseBell?, logMover: LogMover?
    ) {
        self.logMover = logMover
        self.databaseName = databaseName
        self.mode = mode
        self.connection = connection
        self.observers = observers
        self.clock = clock
        self.bell = bell
    }

    /// Bodies that wait.
    var queuedCount: Int { state.update { $0.jobs.count } }

    /// Whether the current thread is the one that runs bodies and completions, which must not wait for the writer.
    var isCurrentThread: Bool {
        let thread = pthread_self()
        return state.update { state in state.runner.map { pthread_equal($0, thread) != 0 } ?? false }
    }

    /// Queues a body; with `.caller` runs it too, unless a thread does already.
    func submit(_ job: WriteJob) {
        enum Next { case refuse, refuseForNow, wait, run, startThread }
        let thread = pthread_self()
        let next: Next = state.update { state in
            if state.isClosing { return .refuse }
            if state.jobs.count >= StoreLimits.queuedWritesMax { return .refuseForNow }
            state.jobs.append(job)
            if state.isRunning { return .wait }
            state.isRunning = true
            if mode == .thread { return .startThread }
            state.runner = thread
            return .run
        }
        switch next {
        case .refuse:
            job.fail(KithError.closed(databaseName))
        case .refuseForNow:
            job.fail(
                KithError(
                    .busy, "\(StoreLimits.queuedWritesMax) writes wait for database \(databaseName) already",
                    remedy: "Try again later, and wait for answers before writing more"))
        case .wait:
            break
        case .run:
            while let job = takeOrStop() { runBatch(job) }
        case .startThread:
            startThread()
        }
    }

    /// Lets the writer's thread look soon whether another process has committed, and tell the observers.
    func lookForOthers() {
        let isFirst = state.update { state in
            if state.isClosing { return false }
            state.mustLook = true
            if state.isRunning { return false }
            state.isRunning = true
            return true
        }
        if isFirst { startThread() }
    }

    private func startThread() {
        // The thread keeps the writer alive, not the database, and ends when that closes or goes away.
        if !StoreThread.start(name: "kith-writer", { self.runThread() }) {
            refuseAll(KithError(.inputOutput, "The system has no thread for writing to database \(databaseName)"))
        }
    }

    /// Takes no further bodies; those that wait are still run.
    func beginClosing() {
        state.update { $0.isClosing = true }
    }

    /// Waits until the last body has been run and told, unless called from a body or completion.
    func waitUntilClosed() {
        let thread = pthread_self()
        state.wait { state in
            let isThisThread = state.runner.map { pthread_equal($0, thread) != 0 } ?? false
            return !state.isRunning || isThisThread ? () : nil
        }
    }

    private func runThread() {
        let thread = pthread_self()
        state.update { $0.runner = thread }
        while true {
            let next: Next = state.wait(patience: { [clock] state in
                // The clock may be set meanwhile, which no wait notices: so it is looked at now and then.
                state.housekeepingDue.map { min(max($0 - clock(), 1), StoreLimits.clockLookMillisecondsMax) }
            }) { state in
                if state.mustLook, !state.isClosing {
                    state.mustLook = false
                    return .look
                }
                // What waits goes first, but not for ever: somebody may write without a pause.
                let overdue = state.isClosing ? nil : state.housekeepingDue.map { clock() - $0 }
                if let overdue, overdue >= (state.jobs.count > 0 ? StoreLimits.housekeepingDelayMillisecondsMax : 0) {
                    state.housekeepingDue = nil
                    return .run(housekeepingJob())
                }
                if let job = state.jobs.take() { return .run(job) }
                guard state.isClosing else { return nil }
                state.isRunning = false
                state.runner = nil
                return .end
            }
            switch next {
            case .run(let job): runBatch(job)
            case .look: look()
            case .end: return
            }
        }
    }

    private enum Next {
        case run(WriteJob)
        case look
        case end
    }

    private func look() {
        // What cannot be read now will be at the next ring; a write meets the same fault and reports it.
        guard let places = try? connection.use({ try $0.placesAfterOthers() }) else { return }
        observers.notifyOfOthers(places)
        // What another process has set to expire is this one's to remove as well: the other may be gone by then.
        if let due = try? connection.use({ try $0.nextHousekeeping() }) { scheduleHousekeeping(at: due) }
    }

    /// Has housekeeping done at a time, or before; with `.caller` nobody does it unasked.
    func scheduleHousekeeping(at due: Int64) {
        guard mode == .thread else { return }
        state.update { $0.housekeepingDue = min($0.housekeepingDue ?? .max, due) }
    }

    /// A body that does what is due and notes when it is next.
    func housekeepingJob(completion: (@Sendable (Result<Void, any Error>) -> Void)? = nil) -> WriteJob {
        WriteJob({ [clock] transaction in try transaction.doHousekeeping(now: clock()) }) { [weak self] result in
            switch result {
            case .success(let next):
                if let next { self?.scheduleHousekeeping(at: next) }
                completion?(.success(()))
            case .failure(let error):
                // A full disk, most likely.
                if let self { scheduleHousekeeping(at: clock() + StoreLimits.housekeepingRetryMilliseconds) }
                completion?(.failure(error))
            }
        }
    }

    private func takeOrStop() -> WriteJob? {
        state.update { state in
            if let job = state.jobs.take() { return job }
            state.isRunning = false
            state.runner = nil
            return nil
        }
    }

    private func refuseAll(_ error: KithError) {
        let jobs: [WriteJob] = state.update { state in
            var jobs: [WriteJob] = []
            while let job = state.jobs.take() { jobs.append(job) }
            state.isRunning = false
            return jobs
        }
        for job in jobs { job.fail(error) }
    }

    /// Runs a transaction with this body and those that wait, and tells all of them what became of it.
    private func runBatch(_ first: WriteJob) {
        var batch = Batch()
        var logPages = 0
        var mustRepair = false
        do {
            try connection.use { connection in
                connection.trimStatements()
                fill(&batch, from: first, on: connection)
                logPages = connection.logPages
                mustRepair = connection.hasFailedFlush
            }
        } catch {
            first.fail(error)
            return
        }
        if !batch.committed.isEmpty || batch.hasSetTime { bell?.ring() }
        for (performed, error) in batch.results { performed.complete(error) }
        for job in batch.notRun { job.fail(batch.beginError ?? KithError.closed(databaseName)) }
        observers.notify(batch.committed)
        // After the answers, which do not depend on it.
        logMover?.didCommit(logPages: logPages, hasUnflushed: !first.waitsForDisk, connection)
        // At once, for the sake of other processes; what fails is tried again before the next transaction.
        if mustRepair { try? connection.use { try $0.repairLog() } }
    }

    private struct Batch {
        /// In the order of the queue; the error is nil when the body's result is durable, or its own error counts.
        var results: [(WriteJob.Performed, (any Error)?)] = []
        var notRun: [WriteJob] = []
        var beginError: (any Error)?
        /// The last sequences of the collections in which documents changed.
        var committed: [CollectionName: UInt64] = [:]
        /// Whether something was given a time at which it is due.
        var hasSetTime = false
    }

    private func fill(_ batch: inout Batch, from first: WriteJob, on connection: SQLiteConnection) {
        var next: WriteJob? = first
        while let job = next {
            let transaction: WriteTransaction
            do {
                try connection.repairLog()
                try connection.setCommitsWait(job.waitsForDisk)
                transaction = try WriteTransaction(beginningOn: connection)
            } catch {
                // Others that wait would only meet the same lock or fault, one after the other.
                batch.beginError = error
                batch.notRun.append(job)
                while batch.notRun.count < StoreLimits.bodiesPerCommitMax, let job = take() { batch.notRun.append(job) }
                return
            }
            next = run(transaction, from: job, &batch)
            // Whoever else uses the connection; the next transaction looks whether that went well.
            try? connection.setCommitsWait(true)
        }
    }

    /// Runs bodies in a transaction until it is committed or lost.
    ///
    /// - Returns: a body for the next transaction, when this one came to nothing and bodies wait.
    private func run(_ transaction: WriteTransaction, from first: WriteJob, _ batch: inout Batch) -> WriteJob? {
        let start = batch.results.count
        var hasContent = false
        var next: WriteJob? = first
        while let job = next {
            next = nil
            do {
                try transaction.beginBody(withSavepoint: hasContent)
            } catch {
                transaction.roll(back: &batch.results, from: start, error)
                batch.results.append((.init(error: error, complete: { job.fail($0 ?? error) }), error))
                return nil
            }
            let performed = job.perform(transaction)
            if let error = transaction.endBody(failedWith: performed.error) {
                batch.results.append((performed, error))
                if transaction.isLost {
                    // The disk is full or cannot be read: SQLite has undone the bodies before this one as well.
                    transaction.roll(back: &batch.results, from: start, error)
                    return nil
                }
                if !hasContent {
                    transaction.rollBack()
                    return batch.results.count < StoreLimits.bodiesPerCommitMax ? take(beside: first) : nil
                }
            } else {
                batch.results.append((performed, nil))
                hasContent = true
            }
            if batch.results.count < StoreLimits.bodiesPerCommitMax,
                transaction.changedDocumentCount < StoreLimits.documentsPerCommitMax
            {
                next = take(beside: first)
            }
        }
        do {
            batch.committed = try transaction.commit()
            if let due = transaction.housekeepingDue {
                batch.hasSetTime = true
                scheduleHousekeeping(at: due)
            }
        } catch {
            transaction.roll(back: &batch.results, from: start, error)
        }
        return nil
    }

    private func take() -> WriteJob? { state.update { $0.jobs.take() } }

    /// Takes a body for a transaction that was begun for another: where that does not wait for the disk, one that does must
    /// not come along.
    private func take(beside first: WriteJob) -> WriteJob? {
        state.update { state in
            if !first.waitsForDisk, state.jobs.first?.waitsForDisk != false { return nil }
            return state.jobs.take()
        }
    }
}

extension WriteTransaction {
    /// Undoes the whole transaction, and lets all of its bodies that had succeeded fail.
    fileprivate func roll(
        back results: inout [(WriteJob.Performed, (any Error)?)], from start: Int, _ error: any Error
    ) {
        rollBack()
        for index in start..<results.count where results[index].1 == nil { results[index].1 = error }
    }
}
