import Glibc
import KithDocuments

/// Makes the file of a database from another file: see `Database.restore` and `copyPrebuilt`.
struct DatabaseInstaller {
    let source: String
    let path: String
    let name: DatabaseName
    /// Whether it becomes another database than that of the file.
    let isNew: Bool
    let signal: StopSignal
    let progress: (MaintenanceProgress) -> Void

    func run() throws {
        // The check of the header comes first, so that a file from elsewhere is refused at once, whatever its size.
        if OpenFiles.isOpen(source) { throw inUse }
        guard try DatabaseFile.probe(source, databaseName: name.text) else {
            throw KithError(.notFound, "There is no file \(source)")
        }
        let draft = try DraftFile(for: path, what: "The file of database \(name)")
        try copySource(to: draft)
        try adapt(draft.path)
        try signal.check()
        try draft.publish(databaseName: name.text)
    }

    private var inUse: KithError {
        KithError(
            .conflict,
            "The file \(source) is a database that is in use, by this or another process, and changes meanwhile",
            remedy: "Make a backup of it (kith db backup), and take that, or close the program that uses it")
    }

    /// Copies the file, and the log beside it if it was not closed, which is played into the draft. The source stays as it
    /// is, and must not change meanwhile: a checkpoint between the two copies would mix two states.
    private func copySource(to draft: DraftFile) throws {
        let file = try openToRead(source)
        defer { OpenFiles.close(file) }
        func isInUse() -> Bool { OpenFiles.isOpen(source) || DatabaseFile.isInUse(byOtherProcess: file) }
        if isInUse() { throw inUse }
        try refuseJournal()
        let before = SourceState(file, source)
        try copy(file, of: source, to: draft.descriptor)
        if access(source + "-wal", F_OK) == 0 {
            let log = try openToRead(source + "-wal")
            defer { OpenFiles.close(log) }
            let target = open(draft.path + "-wal", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard target >= 0 else { throw KithError.system(errno, "The file of database \(name) cannot be written") }
            defer { close(target) }
            try copy(log, of: source + "-wal", to: target)
        }
        // It may have been opened after the first look, and closed again since.
        guard !isInUse(), SourceState(file, source) == before else { throw inUse }
    }

    /// A rollback journal has what another program, which has died, was about to change in the file: the file without it
    /// has half of a transaction.
    private func refuseJournal() throws {
        let journal = open(source + "-journal", O_RDONLY | O_CLOEXEC)
        guard journal >= 0 else {
            if errno == ENOENT { return }
            throw KithError.system(errno, "The file \(source)-journal cannot be opened")
        }
        defer { OpenFiles.close(journal) }
        var first: UInt8 = 0
        // One that was done with begins with zeros.
        guard pread(journal, &first, 1, 0) == 1, first != 0 else { return }
        throw KithError(
            .conflict, "The file \(source) was left in the middle of a change: there is \(source)-journal",
            remedy: "Open it once with the program that wrote it, which ends or undoes the change")
    }

    private func openToRead(_ path: String) throws -> Int32 {
        // A pipe of that name would be waited for.
        let file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { throw KithError.system(errno, "The file \(path) cannot be opened") }
        var information = stat()
        guard fstat(file, &information) == 0, information.st_mode & S_IFMT == S_IFREG else {
            OpenFiles.close(file)
            throw KithError(.damaged, "\(path) is no file")
        }
        return file
    }

    private func copy(_ file: Int32, of source: String, to target: Int32) throws {
        var information = stat()
        guard fstat(file, &information) == 0 else {
            throw KithError.system(errno, "The file \(source) cannot be read")
        }
        var piece = [UInt8](repeating: 0, count: StoreLimits.restoreStepBytes)
        var copied = 0
        while true {
            try signal.check()
            let count = read(file, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw KithError.system(errno, "The file \(source) cannot be read") }
            if count == 0 { return }
            try write(piece[..<count], to: target)
            copied += count
            progress(
                MaintenanceProgress(
                    phase: .copying, completed: copied, total: max(copied, Int(information.st_size))))
        }
    }

    private func write(_ bytes: ArraySlice<UInt8>, to target: Int32) throws {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(target, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw KithError.system(errno, "The file of database \(name) cannot be written") }
            rest = rest.dropFirst(count)
        }
    }

    /// Checks the draft, brings it to this format, and makes another copy or another database of it.
    private func adapt(_ draft: String) throws {
        let connection = try SQLiteConnection(path: draft, databaseName: name.text, mayCreate: false)
        defer { connection.close() }
        let version = try DatabaseFile.asDamage(name.text) { () throws(KithError) in
            try DatabaseFile.check(connection)
        }
        try connection.configure(.writer)
        // Nothing has to survive a crash before the draft is published, which flushes it.
        try connection.execute("PRAGMA synchronous = OFF")
        guard try connection.texts("PRAGMA journal_mode = WAL") == ["wal"] else {
            throw KithError(.inputOutput, "The file of database \(name) cannot have a log beside it")
        }
        try signal.interrupting(connection) {
            progress(MaintenanceProgress(phase: .file, completed: 0, total: 1))
            guard try connection.texts("PRAGMA quick_check(1)") == ["ok"] else {
                throw KithError(
                    .damaged, "The file \(source) is damaged", remedy: "Keep it, and take another backup or a peer")
            }
            try DatabaseFile.migrate(connection, from: version)
            let numbers = try DatabaseFile.asDamage(name.text) { () throws(KithError) in
                try connection.texts("SELECT number FROM collection")
            }
            try connection.execute("BEGIN IMMEDIATE")
            try connection.execute("UPDATE meta SET private_id = '\(try DatabaseFile.randomID())'")
            if isNew {
                try connection.execute("UPDATE meta SET public_id = '\(try DatabaseFile.randomID())'")
            } else {
                try connection.execute(
                    "UPDATE collection SET last_sequence = last_sequence + \(StoreLimits.sequencesSkippedByRestore)")
            }
            for number in numbers { try connection.execute("DELETE FROM local_\(number)") }
            try connection.execute("DELETE FROM refusal")
            // The beginnings of blobs, with which nobody will go on here, and what housekeeping had not removed yet.
            let unfinished = "SELECT number FROM blob WHERE digest IS NULL AND uses = 0"
            try connection.execute("DELETE FROM blob_piece WHERE place >> \(BlobPlace.pieceBits) IN (\(unfinished))")
            try connection.execute("DELETE FROM blob WHERE digest IS NULL AND uses = 0")
            try connection.execute("COMMIT")
        }
        // The draft alone gets the name: all of it has to be in there.
        try connection.checkpointWhole()
    }
}
