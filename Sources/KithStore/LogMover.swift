import CLinux
import Glibc
import KithDocuments

/// Moves the write-ahead log of a database into its main file, beside the writing, so that nobody's answer waits for it.
///
/// The writer says after each commit how long the log is. When it is long, a thread moves it by a connection of its own,
/// while the writer goes on; when it is too long, the writer waits for that and moves the rest itself, after which the log
/// begins anew. With `DatabaseOptions.Writer.caller` the caller does it all.
final class LogMover: Sendable {
    private struct State: Sendable {
        var isMoving = false
        var isClosed = false
        /// Kept from one time to the next; used by the thread that has set `isMoving`.
        var connection: SQLiteConnection?
        /// How long the log was when it was last begun to be moved.
        var pagesBefore = 0
        /// The log, for `startFlushing`; -1 before the first time.
        var log: Int32 = -1
    }

    private let path: String
    private let databaseName: String
    private let mode: DatabaseOptions.Writer
    private let vfsName: String?
    private let state = Monitor(State())

    init(path: String, databaseName: String, options: DatabaseOptions) {
        self.path = path
        self.databaseName = databaseName
        mode = options.writer
        vfsName = options.vfsName
    }

    deinit { close() }

    /// Looks at the log after a commit.
    ///
    /// - Parameters:
    ///   - logPages: how many pages it has now.
    ///   - hasUnflushed: whether it has some that the disk was not told of.
    ///   - connection: the writer's.
    func didCommit(logPages: Int, hasUnflushed: Bool, _ connection: ExclusiveConnection) {
        if hasUnflushed, mode == .thread { startFlushing() }
        guard logPages >= StoreLimits.logMovedAfterPages else { return }
        if mode == .caller || logPages >= StoreLimits.logPagesMax {
            waitUntilIdle()
            // If that fails, the log stays as it is, and a write that needs the room says why there is none.
            try? connection.use { try $0.moveLog() }
            return
        }
        let isWanted = state.update { state in
            // It is shorter where it has begun anew.
            let added = logPages >= state.pagesBefore ? logPages - state.pagesBefore : logPages
            guard !state.isMoving, !state.isClosed, added >= StoreLimits.logMovedAgainAfterPages else { return false }
            state.isMoving = true
            state.pagesBefore = logPages
            return true
        }
        guard isWanted else { return }
        if !StoreThread.start(name: "kith-log", { self.run() }) { state.update { $0.isMoving = false } }
    }

    private func run() {
        let known = state.update { $0.connection }
        let connection = try? known ?? open()
        try? connection?.moveLog()
        state.update { state in
            state.connection = connection
            state.isMoving = false
        }
    }

    private func open() throws -> SQLiteConnection {
        let connection = try SQLiteConnection(
            path: path, databaseName: databaseName, mayCreate: false, vfsName: vfsName)
        // Before it has read something, it does not know that there is a log.
        _ = try connection.number("PRAGMA user_version")
        return connection
    }

    private func waitUntilIdle() { state.wait { $0.isMoving ? nil : () } }

    /// Has the kernel begin to write to the disk what the log has, without waiting: so that the commit that waits for the
    /// disk finds little left to do.
    private func startFlushing() {
        let log: Int32 = state.update { state in
            // SQLite has no locks on the log, which closing this would take away.
            if state.log < 0, !state.isClosed { state.log = Glibc.open(path + "-wal", O_RDONLY | O_CLOEXEC) }
            return state.log
        }
        if log >= 0 { kith_start_flushing(log) }
    }

    /// Ends it, and waits for what is under way. Before the writer's connection is closed: the last one removes the log.
    func close() {
        let (connection, log) = state.wait { state -> (SQLiteConnection?, Int32)? in
            if state.isMoving { return nil }
            defer {
                state.isClosed = true
                state.connection = nil
                state.log = -1
            }
            return (state.connection, state.log)
        }
        connection?.close()
        if log >= 0 { Glibc.close(log) }
    }
}
