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
        try copy(source, to: draft.descriptor)
        // A file that was not closed has a log beside it. It is played into the draft; the source stays as it is.
        if access(source + "-wal", F_OK) == 0 {
            let log = open(draft.path + "-wal", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard log >= 0 else { throw KithError.system(errno, "The file of database \(name) cannot be written") }
            defer { close(log) }
            try copy(source + "-wal", to: log)
        }
        try adapt(draft.path)
        try signal.check()
        // A log that a moved or removed file has left behind would be played into the new one.
        for suffix in ["-wal", "-shm", "-journal"] { unlink(path + suffix) }
        try draft.publish(databaseName: name.text)
    }

    private var inUse: KithError {
        KithError(
            .conflict, "The file \(source) is a database that is in use, and changes while it is copied",
            remedy: "Make a backup of it, and take that")
    }

    private func copy(_ source: String, to target: Int32) throws {
        let file = open(source, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw KithError.system(errno, "The file \(source) cannot be opened") }
        defer { OpenFiles.close(file) }
        var information = stat()
        guard fstat(file, &information) == 0, information.st_mode & S_IFMT == S_IFREG else {
            throw KithError(.damaged, "\(source) is no file")
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
        try connection.execute("PRAGMA journal_mode = WAL")
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
            try connection.execute("COMMIT")
        }
        // The draft alone gets the name: all of it has to be in there.
        try connection.checkpoint()
    }
}
