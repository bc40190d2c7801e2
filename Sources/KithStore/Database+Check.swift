import KithDocuments

extension Database {
    /// Checks the whole database: SQLite's own check of the file, then that everything is as DESIGN.md of this folder says:
    /// documents, revision trees, bodies, sequences, counters, attachments.
    ///
    /// ```swift
    /// let report = try await database.check()
    /// for fault in report.faults { print(fault) }
    /// ```
    ///
    /// It reads one snapshot on a thread of its own, so that others read and write meanwhile; the log is not emptied until
    /// it ends. A database in memory is not available to others meanwhile. What is damaged is passed over and told; a
    /// changed byte inside a body that is still canonical JSON cannot be seen, since only peers know what it was.
    ///
    /// - Parameter progress: called now and then on that thread; it must not use the database.
    /// - Returns: what is wrong; faults are no errors.
    /// - Throws: `.closed`, `.inputOutput`; `.damaged` when the file cannot be read at all; `CancellationError` when the
    ///   task was cancelled.
    public func check(
        progress: @escaping @Sendable (MaintenanceProgress) -> Void = { _ in }
    ) async throws -> CheckReport {
        try await maintenance.run { [readers] signal in
            try readers.read { snapshot in
                try DatabaseChecker(snapshot.connection, signal, progress).run()
            }
        }
    }

    /// What `check` finds wrong, each fault as a line: for tests, which call it after everything. On the calling thread.
    package func findFaults() throws -> [String] { try checkNow().faults.map(\.description) }

    /// What `check` finds, on the calling thread: for tests.
    package func checkNow() throws -> CheckReport {
        try read { snapshot in try DatabaseChecker(snapshot.connection, StopSignal(), { _ in }).run() }
    }
}
