import CLinux
import COpenSSL
import Glibc
import KithDocuments

/// The file of a database: recognised before it is opened, and made in one step.
enum DatabaseFile {
    /// Whether `path` means a database in memory.
    static func isInMemory(_ path: String) -> Bool { path == ":memory:" }

    /// Looks at the first bytes of a file, without opening it as a database: what is not ours stays untouched.
    ///
    /// - Returns: whether there is a file.
    /// - Throws: `.damaged` when it is no database of Kith, `.newerFormat`, `.homeNotWritable`, `.inputOutput`.
    static func probe(_ path: String, databaseName: String) throws(KithError) -> Bool {
        // Then it has been looked at already.
        if OpenFiles.isOpen(path) { return true }
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            if errno == ENOENT { return false }
            throw .system(errno, "The file of database \(databaseName) cannot be opened")
        }
        defer { OpenFiles.close(file) }
        // https://www.sqlite.org/fileformat.html §1.3: the header is 100 bytes; user version at 60, application at 68.
        var header = [UInt8](repeating: 0, count: 100)
        let count = pread(file, &header, header.count, 0)
        guard count >= 0 else { throw .system(errno, "The file of database \(databaseName) cannot be read") }
        guard count == header.count, isOurs(header) else { throw notOurs(databaseName) }
        try check(formatVersion: bigEndian(header[60..<64]), databaseName: databaseName)
        return true
    }

    /// Checks the version again through an open connection, since the header may be newer in the write-ahead log.
    ///
    /// - Returns: the version of the file.
    static func check(_ connection: SQLiteConnection) throws(KithError) -> UInt32 {
        guard try UInt32(truncatingIfNeeded: connection.number("PRAGMA application_id")) == StoreSchema.applicationID
        else {
            throw notOurs(connection.databaseName)
        }
        let version = try UInt32(truncatingIfNeeded: connection.number("PRAGMA user_version"))
        try check(formatVersion: version, databaseName: connection.databaseName)
        return version
    }

    /// Reads what every file of ours has: if SQLite finds no such table or cannot make sense of the schema, the file is
    /// damaged, and nothing is wrong with the program.
    static func asDamage<Result>(
        _ databaseName: String, _ body: () throws(KithError) -> Result
    ) throws(KithError) -> Result {
        do {
            return try body()
        } catch {
            guard error.code == .internal else { throw error }
            throw KithError(
                .damaged,
                "The file of database \(databaseName) is damaged: its tables are not those of a database of Kith",
                remedy: "Keep the file, and restore the database from a peer or a backup", cause: error)
        }
    }

    /// Makes the file of a new database, durable and complete under its name, or not at all; does nothing when another
    /// one was quicker.
    static func create(_ path: String, databaseName: String, vfsName: String? = nil) throws(KithError) {
        let draft = path + ".kith-creating"
        let lock = try lockDraft(draft, databaseName: databaseName)
        defer { OpenFiles.close(lock) }
        defer { remove(draft) }
        // The draft may be this file under its other name, after a crash: then it is not touched, only loses that name.
        if isThere(path) { return }
        // What a crash left of an earlier attempt.
        for suffix in ["-wal", "-shm", "-journal"] { unlink(draft + suffix) }
        guard ftruncate(lock, 0) == 0, fchmod(lock, 0o600) == 0 else {
            throw .system(errno, "The file of database \(databaseName) cannot be made")
        }
        let connection = try SQLiteConnection(
            path: draft, databaseName: databaseName, mayCreate: false, vfsName: vfsName)
        do {
            try connection.execute("PRAGMA synchronous = FULL")
            // So that compaction can give free pages back in small steps, while others read and write.
            try connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            try connection.execute("PRAGMA journal_mode = WAL")
            try makeTables(connection)
            // The draft alone gets the name: all of it has to be in there.
            try connection.checkpointWhole()
            connection.close()
        } catch {
            connection.close()
            throw error
        }
        guard !isThere(path) else { return }
        removeStrayLogs(path)
        // Unlike rename, link refuses where a file is; SQLite has flushed the draft.
        guard link(draft, path) == 0 || errno == EEXIST else {
            throw .system(errno, "The file of database \(databaseName) cannot be made")
        }
        try flushFolder(of: path, databaseName: databaseName)
    }

    /// Publishes a complete file under a name that is free, while nobody else makes a database of that name.
    ///
    /// Whoever makes a file of a database takes this lock first, `create` and `DraftFile.publish`, so that what is found of
    /// the name under it stays so: a log beside a name without a file belongs to nobody, and can be removed.
    ///
    /// - Returns: false when there is a file of that name; then nothing was done.
    static func whileFree(
        _ path: String, databaseName: String, _ body: () throws(KithError) -> Void
    ) throws(KithError) -> Bool {
        let draft = path + ".kith-creating"
        let lock = try lockDraft(draft, databaseName: databaseName)
        defer { OpenFiles.close(lock) }
        var information = stat()
        // What a crash has left there stays for `create` to clean up.
        let isMine = fstat(lock, &information) == 0 && information.st_size == 0
        defer { if isMine { unlink(draft) } }
        guard !isThere(path) else { return false }
        removeStrayLogs(path)
        try body()
        return true
    }

    /// Whether the name is taken, by whatever it is.
    private static func isThere(_ path: String) -> Bool {
        var information = stat()
        return lstat(path, &information) == 0
    }

    /// Removes the log of a file that was moved or removed: it would be played into the next one of that name.
    private static func removeStrayLogs(_ path: String) {
        for suffix in ["-wal", "-shm", "-journal"] { unlink(path + suffix) }
    }

    /// Whether another process has a file open as a database: SQLite holds a lock on it so long.
    ///
    /// - Parameter file: a descriptor of it. This process's own locks are not seen.
    static func isInUse(byOtherProcess file: Int32) -> Bool {
        // https://www.sqlite.org/src/file/src/os.h: the bytes PENDING, RESERVED and 510 for SHARED, from 2^30 on.
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = 0x4000_0000
        lock.l_len = 512
        // A file system without locks cannot tell.
        return fcntl(file, F_GETLK, &lock) == 0 && lock.l_type != Int16(F_UNLCK)
    }

    /// Whether a file begins as one of ours does.
    static func hasOurHeader(_ file: Int32) -> Bool {
        var header = [UInt8](repeating: 0, count: 100)
        return pread(file, &header, header.count, 0) == header.count && isOurs(header)
    }

    /// Opens or makes a draft and locks it: only one process or thread makes a database of this name at a time.
    ///
    /// - Returns: its descriptor; the lock ends with it.
    private static func lockDraft(_ draft: String, databaseName: String) throws(KithError) -> Int32 {
        while true {
            // Made here rather than by SQLite, so that nobody else can read it, whatever the umask.
            let file = open(draft, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
            guard file >= 0 else { throw .system(errno, "The file of database \(databaseName) cannot be made") }
            var (locked, named) = (stat(), stat())
            var result = flock(file, LOCK_EX)
            while result != 0, errno == EINTR { result = flock(file, LOCK_EX) }
            guard result == 0, fstat(file, &locked) == 0 else {
                let number = errno
                OpenFiles.close(file)
                throw .system(number, "The file of database \(databaseName) cannot be made")
            }
            if stat(draft, &named) == 0, named.st_ino == locked.st_ino, named.st_dev == locked.st_dev { return file }
            // It was the draft of another one that was quicker.
            OpenFiles.close(file)
        }
    }

    /// Makes the tables in an empty database.
    static func makeTables(_ connection: SQLiteConnection) throws(KithError) {
        try connection.execute("BEGIN IMMEDIATE")
        try connection.execute("PRAGMA application_id = \(StoreSchema.applicationID)")
        try connection.execute("PRAGMA user_version = \(StoreSchema.formatVersion)")
        try connection.execute(StoreSchema.tables)
        try connection.execute(StoreSchema.refusalTable)
        try connection.execute(StoreSchema.tables(ofCollection: StoreSchema.defaultCollection))
        let (publicID, privateID) = (try randomID(), try randomID())
        try connection.execute(
            """
            INSERT INTO meta (
                    public_id, private_id, last_collection, dropped_sequence, revisions_limit, keeps_old_bodies)
            VALUES ('\(publicID)', '\(privateID)', 1, 0, \(StoreLimits.revisionsLimitDefault), 0);
            INSERT INTO collection (number, name, last_sequence, live, deleted, conflicts)
            VALUES (\(StoreSchema.defaultCollection), '\(CollectionName.default)', 0, 0, 0, 0);
            """)
        try connection.execute("COMMIT")
    }

    /// Removes a database's files; what is not there is no error.
    static func remove(_ path: String) {
        // The file itself last: without it, a log would wait for the next file of this name.
        for suffix in ["-wal", "-shm", "-journal", ""] { unlink(path + suffix) }
    }

    /// Bytes that the database's files take.
    static func size(_ path: String) -> UInt64 {
        var size: UInt64 = 0
        for suffix in ["", "-wal"] {
            var information = stat()
            if stat(path + suffix, &information) == 0 { size += UInt64(information.st_size) }
        }
        return size
    }

    /// Makes what happened to names in a file's folder durable.
    static func flushFolder(of path: String, databaseName: String) throws(KithError) {
        let folder: String
        if let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) {
            folder = slash == path.utf8.startIndex ? "/" : String(path[..<slash])
        } else {
            folder = "."
        }
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system(errno, "The folder of database \(databaseName) cannot be opened") }
        defer { Glibc.close(descriptor) }
        guard fsync(descriptor) == 0 else {
            throw .system(errno, "The folder of database \(databaseName) cannot be flushed")
        }
    }

    private static func check(formatVersion: UInt32, databaseName: String) throws(KithError) {
        guard formatVersion <= StoreSchema.formatVersion else {
            throw KithError(
                .newerFormat,
                "Database \(databaseName) was written by a newer version of Kith "
                    + "(format \(formatVersion), this one knows \(StoreSchema.formatVersion))",
                remedy: "Install the newer version again; the file is unchanged")
        }
        guard formatVersion > 0 else { throw notOurs(databaseName) }
    }

    private static func notOurs(_ databaseName: String) -> KithError {
        KithError(
            .damaged, "The file of database \(databaseName) is not a database of Kith, or its beginning is damaged",
            remedy: "Keep the file, and restore the database from a peer or a backup")
    }

    private static func isOurs(_ header: [UInt8]) -> Bool {
        header.starts(with: "SQLite format 3\0".utf8) && bigEndian(header[68..<72]) == StoreSchema.applicationID
    }

    private static func bigEndian(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        bytes.reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// 128 random bits as 32 hex digits.
    static func randomID() throws(KithError) -> String {
        var bytes = [UInt8](repeating: 0, count: 16)
        guard RAND_bytes(&bytes, Int32(bytes.count)) == 1 else {
            throw KithError(.internal, "OpenSSL has no random numbers")
        }
        return Hexadecimal.text(bytes)
    }
}
