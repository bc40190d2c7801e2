import CSQLite
import KithDocuments

extension Database {
    /// Writes the database as it is now into one new file, while others go on reading and writing.
    ///
    /// ```swift
    /// try await database.backup(to: "/media/stick/notes.kith")
    /// ```
    ///
    /// The file appears under its name complete and durable, or not at all; only its owner can read it. It is a database of
    /// Kith like any other, in one file without a log, with an identity of its own as a copy: `Database.restore` brings it
    /// back. Copying a file that is in use by other means does not: its log is another file, and both change meanwhile.
    ///
    /// Pages are copied one after the other within one snapshot by SQLite's backup interface. That reads and writes each
    /// page once, in order, in bounded memory, can tell how far it is, and be stopped; `VACUUM INTO` would build every index
    /// anew and does neither. The copy has the free pages too; `compact` gives them back first.
    ///
    /// - Parameters:
    ///   - path: the new file.
    ///   - progress: called now and then, with pages, on a thread of the backup's own; it must not use the database.
    /// - Returns: the size of the file in bytes.
    /// - Throws: `.databaseExists` when there is a file of that name; `.homeNotWritable` for the folder; `.diskFull`;
    ///   `.conflict` when a backup to the same name is under way; `.closed`, `.damaged`, `.inputOutput`;
    ///   `CancellationError` when the task was cancelled. No file is left then.
    @discardableResult
    public func backup(
        to path: String, progress: @escaping @Sendable (MaintenanceProgress) -> Void = { _ in }
    ) async throws -> UInt64 {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw KithError(.badName, "The path of the backup is empty or has a NUL character")
        }
        return try await maintenance.run { [name, readers] signal in
            let draft = try DraftFile(for: path, what: "The backup of database \(name)")
            try readers.read { snapshot in
                // The first statement that reads fixes the state that is copied.
                _ = try snapshot.counters()
                try snapshot.connection.copyPages(to: draft.path, signal, progress)
            }
            try Self.finishBackup(draft.path, databaseName: name.text)
            try signal.check()
            let size = DatabaseFile.size(draft.path)
            try draft.publish(databaseName: name.text)
            return size
        }
    }

    /// Makes one file of it, without a log, that is another copy of the database than the one it was copied from.
    private static func finishBackup(_ path: String, databaseName: String) throws {
        let connection = try SQLiteConnection(path: path, databaseName: databaseName, mayCreate: false)
        defer { connection.close() }
        // The draft is flushed once, at its end.
        try connection.execute("PRAGMA synchronous = OFF")
        // A log beside it would not get the name of the backup. A mode that cannot be changed is no error for SQLite.
        guard try connection.texts("PRAGMA journal_mode = DELETE") == ["delete"] else {
            throw KithError(.inputOutput, "The backup of database \(databaseName) cannot be made one file")
        }
        try connection.execute("UPDATE meta SET private_id = '\(try DatabaseFile.randomID())'")
        // Nobody will go on with the beginnings of blobs that are in the copy.
        try connection.execute("UPDATE blob SET leased_until = 0, expected = NULL WHERE digest IS NULL")
    }
}

extension SQLiteConnection {
    /// Copies all pages, in the state of the transaction that is open, into a file that is empty.
    fileprivate func copyPages(
        to path: String, _ signal: StopSignal, _ progress: (MaintenanceProgress) -> Void
    ) throws {
        let target = try SQLiteConnection(path: path, databaseName: databaseName, mayCreate: false)
        defer { target.close() }
        // Nothing has to survive a crash before the draft is published.
        try target.execute("PRAGMA synchronous = OFF")
        try target.execute("PRAGMA journal_mode = MEMORY")
        guard let backup = sqlite3_backup_init(target.handle, "main", handle, "main") else {
            throw target.error(sqlite3_errcode(target.handle))
        }
        var code = SQLITE_OK
        do {
            while code == SQLITE_OK {
                try signal.check()
                code = sqlite3_backup_step(backup, StoreLimits.backupStepPages)
                let total = Int(sqlite3_backup_pagecount(backup))
                let completed = total - Int(sqlite3_backup_remaining(backup))
                progress(MaintenanceProgress(phase: .copying, completed: completed, total: total))
            }
        } catch {
            sqlite3_backup_finish(backup)
            throw error
        }
        // Gives the error of the last step again, on the target's handle.
        let ended = sqlite3_backup_finish(backup)
        guard code == SQLITE_DONE, ended == SQLITE_OK else { throw target.error(code == SQLITE_DONE ? ended : code) }
    }
}
