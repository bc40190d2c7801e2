import KithDocuments

extension Database {
    /// Makes the database as small as what it holds: drops bodies of superseded revisions and attachments that no revision
    /// has any more, gives free pages back to the file system, and empties the log. Documents, revisions and sequences stay
    /// as they are, and so does `digest()`.
    ///
    /// All of it is done in small steps through the writer's queue (`StoreLimits.compactionStepRows`,
    /// `compactionStepBytes`), between which others write; reads wait for nothing. A file that was made by a version before
    /// format 2 cannot give pages back in steps: it is rewritten once, which keeps writes waiting and needs as much space
    /// again for that time. Readers of an old state hinder the emptying of the log; its content stays where it is then.
    ///
    /// - Parameter progress: called after each step, on a thread of the compaction's own.
    /// - Throws: `CancellationError` when the task was cancelled; what was done until then stays done. `.closed`,
    ///   `.diskFull`, `.damaged`, `.inputOutput`.
    public func compact(
        progress: @escaping @Sendable (MaintenanceProgress) -> Void = { _ in }
    ) async throws -> CompactionResult {
        try await maintenance.run { [self] signal in
            var compactor = Compactor(self, signal, progress)
            return try compactor.run()
        }
    }

    /// Compacts on the calling thread: for tests that play everything on one.
    package func compactHere() throws -> CompactionResult {
        var compactor = Compactor(self, StopSignal()) { _ in }
        return try compactor.run()
    }
}
