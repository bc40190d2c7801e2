import KithDocuments

extension Database {
    /// Makes a database from a backup of one that is lost: it goes on as that database, and peers go on with it.
    ///
    /// The public ID stays. The private ID is new, local documents are dropped, and with them the checkpoints of
    /// replication: what peers have and this copy does not have is looked for from the start. The last sequence of each
    /// collection is raised by `StoreLimits.sequencesSkippedByRestore`, so that no sequence is given again that the lost
    /// database has given after the backup; peers would pass over such changes as known.
    ///
    /// The file of the database appears complete and durable, or not at all; the backup is not changed. One of an older
    /// format is brought to this one.
    ///
    /// - Parameters:
    ///   - backup: what `backup` has made, or another closed file of a database.
    ///   - path: the file of the new database.
    ///   - name: its name, for messages.
    ///   - progress: called now and then, with bytes, on a thread of its own.
    /// - Throws: `.databaseExists` when there is a file at `path`; `.notFound` when there is no backup; `.newerFormat`,
    ///   `.damaged`; `.conflict` when the backup is a database that this process has open, or another restore to `path` is
    ///   under way; `.diskFull`, `.homeNotWritable`, `.inputOutput`; `CancellationError`. No file is left then.
    public static func restore(
        from backup: String, to path: String, name: DatabaseName,
        progress: @escaping @Sendable (MaintenanceProgress) -> Void = { _ in }
    ) async throws {
        try await install(from: backup, to: path, name: name, isNew: false, progress)
    }

    /// Makes a new database with the content of a file: for data that an app brings along, or a database that shall begin
    /// as another one is.
    ///
    /// As `restore`, but the public ID is new too: it is another database than that of the file, so that one file can be
    /// copied to many machines. Sequences go on where they are.
    ///
    /// - Throws: as `restore`.
    public static func copyPrebuilt(
        from file: String, to path: String, name: DatabaseName,
        progress: @escaping @Sendable (MaintenanceProgress) -> Void = { _ in }
    ) async throws {
        try await install(from: file, to: path, name: name, isNew: true, progress)
    }

    private static func install(
        from source: String, to path: String, name: DatabaseName, isNew: Bool,
        _ progress: @escaping @Sendable (MaintenanceProgress) -> Void
    ) async throws {
        guard !path.isEmpty, !path.utf8.contains(0), !source.isEmpty, !source.utf8.contains(0) else {
            throw KithError(.badName, "A path is empty or has a NUL character")
        }
        let signal = StopSignal()
        try await Maintenance.run(signal, onThread: true) {
            try DatabaseInstaller(
                source: source, path: path, name: name, isNew: isNew, signal: signal, progress: progress
            ).run()
        }
    }
}
