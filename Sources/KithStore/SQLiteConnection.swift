import CSQLite
import Glibc
import KithDocuments

/// One connection to a SQLite file, with its prepared statements.
///
/// It owns the `sqlite3` handle and the statements; both end in `close()` or with the object.
///
/// `@unchecked Sendable`: it goes from thread to thread, but only one thread at a time uses it, namely who took it out of
/// the reader pool (`ReaderPool` keeps idle ones behind its monitor) or who holds the `ExclusiveConnection` it is in.
/// SQLite is opened without its own lock for that reason, and both hand-overs go through a lock, which orders memory.
final class SQLiteConnection: @unchecked Sendable {
    enum Role { case writer, reader, memory }

    /// The database's name, for messages.
    let databaseName: String
    /// Used by the store's operations on this connection, one after the other.
    let hasher: MessageDigest
    /// The highest sequence given out on this connection in each collection, even by a transaction that was undone: what a
    /// body has seen is not given again. Only the writer uses it.
    var highestSequenceGiven: [Int: UInt64] = [:]

    /// What SQLite said when commits of other connections were last looked for. Only the writer uses it.
    var dataVersionSeen: Int?

    private(set) var handle: OpaquePointer?
    /// Which file it has open, for `OpenFiles`.
    private var file: OpenFiles.FileID?
    /// Pages in the write-ahead log after the last commit of this connection.
    fileprivate(set) var logPages = 0
    /// Whether a commit waits for the disk; not so in a simulation.
    private var isDurable = true
    private var commitsWait = true
    /// Whether the system has said that bytes did not get to the disk, and `repairLog` was not done since.
    var hasFailedFlush = false
    /// Whether a lock that another process holds is waited for.
    var waitsForLocks = true
    /// When the current waiting for a lock has begun.
    private var lockWaitBegan = ContinuousClock.now
    /// Of the collection `_default`, and those that concern no collection.
    private var statements: [OpaquePointer?]
    /// Of other collections, by number.
    private var otherStatements: [Int: [OpaquePointer?]] = [:]

    /// Opens a file that is there, or makes an empty one.
    ///
    /// - Throws: `.homeNotWritable`, `.damaged`, `.diskFull`, `.inputOutput`.
    init(path: String, databaseName: String, mayCreate: Bool, vfsName: String? = nil) throws(KithError) {
        self.databaseName = databaseName
        hasher = try MessageDigest(.sha256)
        statements = Array(repeating: nil, count: StoreQuery.allCases.count)
        // A name that begins so would be read as a URI.
        let name = path.utf8.starts(with: "file:".utf8) ? "./" + path : path
        var flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        if mayCreate { flags |= SQLITE_OPEN_CREATE }
        var code = SQLITE_OK
        file = OpenFiles.open(path) {
            code = sqlite3_open_v2(name, &handle, flags, vfsName)
            return code == SQLITE_OK
        }
        guard code == SQLITE_OK else {
            let error = self.error(code)
            sqlite3_close_v2(handle)
            handle = nil
            throw error
        }
        // Only called while this object uses the handle, which it closes before it goes away.
        sqlite3_busy_handler(handle, lockIsHeld, Unmanaged.passUnretained(self).toOpaque())
        // No schema in a file from elsewhere may run functions, and no statement may damage the file on purpose.
        kith_sqlite_set_option(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        kith_sqlite_set_option(handle, SQLITE_DBCONFIG_DEFENSIVE, 1)
    }

    deinit {
        close()
    }

    /// Ends the connection; harmless when it has ended already.
    func close() {
        for statement in statements { sqlite3_finalize(statement) }
        statements = []
        for number in otherStatements.keys { finalizeStatements(ofCollection: number) }
        sqlite3_close_v2(handle)
        handle = nil
        if let file { OpenFiles.didClose(file) }
        file = nil
    }

    /// Sets what a connection of this role needs.
    func configure(_ role: Role) throws(KithError) {
        try execute("PRAGMA temp_store = MEMORY")
        // Debian's SQLite overwrites all that is deleted; this does it only where it costs no further writing.
        try execute("PRAGMA secure_delete = FAST")
        try execute("PRAGMA cell_size_check = ON")
        switch role {
        case .writer, .memory:
            // A commit is answered only after it is on the disk: goal 1.
            try execute("PRAGMA synchronous = FULL")
            try execute("PRAGMA cache_size = -\(StoreLimits.writerCacheKibibytes)")
            // The writer says when the log is moved, and tells results before that.
            try execute("PRAGMA wal_autocheckpoint = 0")
            sqlite3_wal_hook(handle, noteLogPages, Unmanaged.passUnretained(self).toOpaque())
            try execute("PRAGMA journal_size_limit = \(StoreLimits.idleLogBytesMax)")
        case .reader:
            try execute("PRAGMA cache_size = -\(StoreLimits.readerCacheKibibytes)")
            try execute("PRAGMA query_only = ON")
        }
    }

    /// Lets no commit wait for the disk: for simulations.
    func makeNotDurable() throws(KithError) {
        try execute("PRAGMA synchronous = OFF")
        isDurable = false
    }

    /// Whether the next commits wait for the disk. One that does not is lost in a power cut, unless one after it has
    /// waited: then all before it are on the disk too. Not inside a transaction.
    func setCommitsWait(_ isOn: Bool) throws(KithError) {
        guard isDurable, isOn != commitsWait else { return }
        try execute(isOn ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL")
        commitsWait = isOn
    }

    /// Moves what it can of the write-ahead log into the main file, while others read and write.
    ///
    /// - Throws: when the file cannot be written. Nothing is lost then: the log still has it.
    func moveLog() throws(KithError) {
        guard let handle else { throw .closed(databaseName) }
        let code = sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
        guard code == SQLITE_OK || code & 0xFF == SQLITE_BUSY else { throw error(code) }
    }

    /// Finds out now rather than at the first write whether the file can be written.
    func checkCanWrite() throws(KithError) {
        guard let handle, sqlite3_db_readonly(handle, "main") == 0 else { throw error(SQLITE_READONLY) }
        // Takes and gives back the lock, for which the log and its index have to be writable too.
        try execute("BEGIN IMMEDIATE")
        try execute("ROLLBACK")
    }

    /// Has the file use a write-ahead log, which everything here relies on: a backup was put in place without one.
    func requireLog() throws(KithError) {
        if try texts("PRAGMA journal_mode").first == "wal" { return }
        guard try texts("PRAGMA journal_mode = WAL").first == "wal" else {
            throw KithError(
                .inputOutput,
                "Database \(databaseName) cannot use a write-ahead log: another program has the file open",
                remedy: "Close the other program, or put the file on another file system")
        }
    }

    /// Whether closing this connection as the last one leaves the write-ahead log as it is.
    func setKeepsLog(_ isOn: Bool) {
        guard let handle else { return }
        kith_sqlite_set_option(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, isOn ? 1 : 0)
    }

    /// Whether a transaction is open. SQLite ends one by itself when the disk is full or cannot be read.
    var isInTransaction: Bool {
        // SQLite does not look at a handle that is nil before it uses it.
        handle.map { sqlite3_get_autocommit($0) == 0 } ?? false
    }

    /// Rows that the last statement has inserted, changed or deleted.
    var changedRowCount: Int { handle.map { Int(sqlite3_changes($0)) } ?? 0 }
    /// The key of the row inserted last.
    var lastInsertedRow: Int { handle.map { Int(sqlite3_last_insert_rowid($0)) } ?? 0 }

    /// Runs statements that give no rows and are not needed often.
    func execute(_ sql: String) throws(KithError) {
        guard let handle else { throw .closed(databaseName) }
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw error(code) }
    }

    /// The first column of the first row of a statement that is not needed often, as a number.
    func number(_ sql: String) throws(KithError) -> Int {
        guard let handle else { throw .closed(databaseName) }
        var pointer: OpaquePointer?
        let code = sqlite3_prepare_v2(handle, sql, -1, &pointer, nil)
        guard code == SQLITE_OK, let pointer else { throw error(code) }
        defer { sqlite3_finalize(pointer) }
        let statement = SQLiteStatement(pointer: pointer, connection: self)
        return try statement.step() ? statement.int(0) : 0
    }

    /// The first column of all rows of a statement that is not needed often, as text.
    func texts(_ sql: String) throws(KithError) -> [String] {
        guard let handle else { throw .closed(databaseName) }
        var pointer: OpaquePointer?
        let code = sqlite3_prepare_v2(handle, sql, -1, &pointer, nil)
        guard code == SQLITE_OK, let pointer else { throw error(code) }
        defer { sqlite3_finalize(pointer) }
        let statement = SQLiteStatement(pointer: pointer, connection: self)
        var texts: [String] = []
        while try statement.step() { texts.append(statement.text(0)) }
        return texts
    }

    /// Uses one of the store's statements, prepared once per connection and collection; afterwards it holds no row and no
    /// binding.
    ///
    /// The same statement must not be used again inside.
    @inline(__always)
    func with<Result>(
        _ query: StoreQuery, in collection: Int = StoreSchema.defaultCollection,
        _ body: (SQLiteStatement) throws -> Result
    ) throws -> Result {
        let pointer: OpaquePointer
        if collection == StoreSchema.defaultCollection, !statements.isEmpty, let prepared = statements[query.rawValue] {
            pointer = prepared
        } else {
            pointer = try prepare(query, in: collection)
        }
        defer {
            sqlite3_reset(pointer)
            sqlite3_clear_bindings(pointer)
        }
        return try body(SQLiteStatement(pointer: pointer, connection: self))
    }

    /// Runs one of the store's statements that has no parameters and gives no rows.
    func run(_ query: StoreQuery) throws {
        try with(query) { try $0.run() }
    }

    private func prepare(_ query: StoreQuery, in collection: Int) throws(KithError) -> OpaquePointer {
        if let prepared = otherStatements[collection]?[query.rawValue] { return prepared }
        guard let handle else { throw .closed(databaseName) }
        var pointer: OpaquePointer?
        let code = sqlite3_prepare_v3(
            handle, query.sql(collection: collection), -1, UInt32(SQLITE_PREPARE_PERSISTENT), &pointer, nil)
        guard code == SQLITE_OK, let pointer else { throw error(code) }
        if collection == StoreSchema.defaultCollection {
            statements[query.rawValue] = pointer
        } else {
            otherStatements[collection, default: Array(repeating: nil, count: statements.count)][query.rawValue] =
                pointer
        }
        return pointer
    }

    /// Gives up the prepared statements of a collection, none of which is in use.
    func finalizeStatements(ofCollection number: Int) {
        for statement in otherStatements.removeValue(forKey: number) ?? [] { sqlite3_finalize(statement) }
    }

    /// Gives up what was prepared for collections when there are many of them; between transactions.
    func trimStatements() {
        guard otherStatements.count > StoreLimits.preparedCollectionsMax else { return }
        for number in otherStatements.keys { finalizeStatements(ofCollection: number) }
    }

    /// Waits a moment for a lock that another process holds.
    ///
    /// SQLite's own waiting sleeps up to 100 milliseconds between attempts. Against a process that writes without pause,
    /// and so leaves the lock free for a moment only, that meets the free moment too rarely.
    ///
    /// - Returns: whether it is worth another attempt.
    fileprivate func waitForLock(_ attempts: Int32) -> Bool {
        guard waitsForLocks else { return false }
        let now = ContinuousClock.now
        if attempts == 0 { lockWaitBegan = now }
        guard now - lockWaitBegan < .milliseconds(StoreLimits.lockWaitMillisecondsMax) else { return false }
        usleep(StoreLimits.lockRetryMicroseconds)
        return true
    }

    /// Makes every commit fail, as a disk does that breaks in the last moment: for tests.
    func setCommitsFail(_ isOn: Bool) {
        guard let handle else { return }
        sqlite3_commit_hook(handle, isOn ? refuseCommit : nil, nil)
    }

    /// Moves the write-ahead log into the main file and empties it; readers of an older state hinder that, which is no
    /// error.
    ///
    /// - Throws: when the file cannot be written. Nothing is lost then: the log still has it.
    func checkpoint() throws(KithError) {
        guard let handle else { return }
        let code = sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
        guard code == SQLITE_OK || code & 0xFF == SQLITE_BUSY else { throw error(code) }
    }

    /// The error that a result code of this connection means.
    func error(_ code: Int32) -> KithError {
        // EXRESCODE makes most codes extended; the handle knows better where one is not.
        let extended = handle.map { sqlite3_extended_errcode($0) } ?? code
        let best = extended & 0xFF == code & 0xFF ? extended : code
        if best == flushFailed { hasFailedFlush = true }
        return .sqlite(best, systemError: handle.map { sqlite3_system_errno($0) } ?? 0, database: databaseName)
    }
}

/// Called by SQLite while another process holds a lock.
private func lockIsHeld(_ context: UnsafeMutableRawPointer?, _ attempts: Int32) -> Int32 {
    guard let context else { return 0 }
    return Unmanaged<SQLiteConnection>.fromOpaque(context).takeUnretainedValue().waitForLock(attempts) ? 1 : 0
}

/// Called by SQLite after each commit to the log.
private func noteLogPages(
    _ context: UnsafeMutableRawPointer?, _ handle: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ pages: Int32
) -> Int32 {
    guard let context else { return SQLITE_OK }
    Unmanaged<SQLiteConnection>.fromOpaque(context).takeUnretainedValue().logPages = Int(pages)
    return SQLITE_OK
}

/// `SQLITE_IOERR_FSYNC`.
private let flushFailed: Int32 = SQLITE_IOERR | 4 << 8

private func refuseCommit(_ context: UnsafeMutableRawPointer?) -> Int32 { 1 }
