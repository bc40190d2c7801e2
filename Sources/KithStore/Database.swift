import KithDocuments

/// A database: JSON documents with their revision trees in one file, numbered by sequence.
///
/// ```swift
/// let database = try Database(path: "/home/ann/notes.kith", name: DatabaseName("notes"), create: true)
/// let id = try DocumentID("shopping")
/// let (revision, _) = try await database.write { try $0.put(id, body: Array(#"{"milk":2}"#.utf8), parent: nil) }
/// let document = try database.read { try $0.document(id) }
/// ```
///
/// - All writes go through one queue. Those that wait together are made durable together; a write is answered only when
///   it is on the disk, and a write that throws leaves nothing behind.
/// - A read sees one state, from its first to its last line, and waits for no write.
/// - What is thrown is a `KithError`, except for what the given closures throw themselves.
///
/// It does not speak to peers, merge, or decide who may read.
public final class Database: Sendable {
    /// The database's name.
    public let name: DatabaseName
    /// Where its file is; `:memory:` for a database in memory.
    public let path: String
    /// Says which database this is, to peers as well: 128 random bits as 32 hex digits, made with the file.
    public let publicID: String
    /// Says which copy of the database this is, for checkpoints; never told to anybody. 32 hex digits.
    public let privateID: String

    /// The writer's connection; for a database in memory the only one.
    let connection: ExclusiveConnection
    private let writer: Writer
    let readers: ReaderPool
    let maintenance: Maintenance
    private let observers = Observers()
    /// The beginnings of blobs that came into the database through this object, by number.
    let blobClaims = Monitor<[Int: BlobClaim]>([:])
    /// The time in milliseconds since 1970.
    let clock: @Sendable () -> Int64
    /// What other processes hear of commits, and what is heard of theirs: nil in memory, and where nothing happens by
    /// itself.
    private let bell: DatabaseBell?
    private let bellWatcher: BellWatcher

    /// Opens a database.
    ///
    /// - Parameters:
    ///   - path: its file, or `:memory:` for one that goes away with this object.
    ///   - name: its name, for messages.
    ///   - create: whether it is made when there is no file; a new file appears complete and durable, or not at all.
    ///   - options: how it works inside.
    /// - Throws: `.databaseNotFound`, `.newerFormat` and `.damaged` (the file is left as it is), `.homeNotWritable`,
    ///   `.diskFull`, `.inputOutput`.
    public init(
        path: String, name: DatabaseName, create: Bool, options: DatabaseOptions = DatabaseOptions()
    ) throws(KithError) {
        let databaseName = name.text
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw KithError(.badName, "The path of database \(databaseName) is empty or has a NUL character")
        }
        let isInMemory = DatabaseFile.isInMemory(path)
        if !isInMemory, try !DatabaseFile.probe(path, databaseName: databaseName) {
            guard create else {
                throw KithError(.databaseNotFound, "There is no database \(databaseName)", remedy: "Create it first")
            }
            try DatabaseFile.create(path, databaseName: databaseName, vfsName: options.vfsName)
        }
        let connection = try SQLiteConnection(
            path: path, databaseName: databaseName, mayCreate: isInMemory, vfsName: options.vfsName)
        if isInMemory {
            try DatabaseFile.makeTables(connection)
            try connection.configure(.memory)
        } else {
            // Until the file is known to be one that this version may change.
            connection.setKeepsLog(true)
            let version = try DatabaseFile.asDamage(databaseName) { () throws(KithError) in
                try DatabaseFile.check(connection)
            }
            connection.setKeepsLog(false)
            try connection.configure(.writer)
            try connection.checkCanWrite()
            try connection.requireLog()
            try DatabaseFile.migrate(connection, from: version)
        }
        if !options.isDurable { try connection.makeNotDurable() }
        let identifiers = try DatabaseFile.asDamage(databaseName) { () throws(KithError) in
            try connection.texts("SELECT public_id FROM meta UNION ALL SELECT private_id FROM meta")
        }
        guard identifiers.count == 2 else {
            throw KithError(.damaged, "The file of database \(databaseName) does not say which database it is")
        }
        self.name = name
        self.path = path
        publicID = identifiers[0]
        privateID = identifiers[1]
        self.connection = ExclusiveConnection(connection)
        bell = isInMemory || options.writer == .caller ? nil : DatabaseBell(path: path)
        bellWatcher = options.bellWatcher
        // For the last commit of a process that was killed before it rang.
        bell?.ring()
        writer = Writer(
            databaseName: databaseName, mode: options.writer, connection: self.connection, observers: observers,
            clock: options.clock, bell: bell,
            logMover: isInMemory ? nil : LogMover(path: path, databaseName: databaseName, options: options))
        readers = ReaderPool(
            databaseName: databaseName, mode: options.writer,
            source: isInMemory ? .shared(self.connection) : .file(path: path, vfsName: options.vfsName),
            readersMax: options.readers)
        maintenance = Maintenance(databaseName: databaseName, mode: options.writer)
        clock = options.clock
        resumeHousekeeping()
    }

    /// Has done what became due while nobody had the file open, and notes what will be.
    private func resumeHousekeeping() {
        do {
            let next = try connection.use { try $0.nextHousekeeping() }
            if next != nil { writer.submit(writer.housekeepingJob()) }
        } catch {
            // A damaged index must not keep anybody from reading the rest; the job tries again, and a check names it.
            writer.submit(writer.housekeepingJob())
        }
    }

    /// The time in milliseconds since 1970, by the clock of the options.
    var now: Int64 { clock() }

    /// Lets the documents go whose time has come and the blobs that nothing refers to, and returns when they are gone: for
    /// a database with `.caller`; otherwise the writer's thread does it by itself.
    ///
    /// - Throws: as `write`.
    public func doHousekeeping() throws {
        let clock = clock
        var isDone = false
        while !isDone { isDone = try writeBlocking { try $0.doHousekeeping(now: clock()) ?? .max } > clock() }
    }

    deinit {
        // The threads do what is queued and end by themselves; the last of them closes the connection.
        writer.beginClosing()
        readers.beginClosing()
        observers.stopWatching()
    }

    /// Closes the database: writes that are queued are still done and told, reads under way are waited for, queued reads
    /// and everything later fail with `.closed`, and so do checks, compactions and backups that are under way; then the log
    /// is moved into the main file.
    ///
    /// Closing again does nothing. From inside a body or completion it waits for nothing, and the file is closed with
    /// the last use of it. It must not be called inside `read`, nor from a progress callback.
    public func close() {
        let isInside = writer.isCurrentThread
        maintenance.beginClosing()
        writer.beginClosing()
        readers.beginClosing()
        observers.close()
        if isInside { return }
        maintenance.waitUntilClosed()
        writer.waitUntilClosed()
        readers.waitUntilClosed()
        writer.logMover?.close()
        try? connection.use { connection in
            try? connection.checkpoint()
            connection.close()
        }
    }

    /// Removes the files of a database that was closed with `close()`, not only let go of; what is not there is no error.
    ///
    /// - Throws: what a flush of the folder throws: `.homeNotWritable`, `.inputOutput`.
    public static func removeFiles(at path: String, name: DatabaseName) throws(KithError) {
        DatabaseFile.remove(path)
        try DatabaseFile.flushFolder(of: path, databaseName: name.text)
    }

    // MARK: Reading

    /// Runs `body` with a snapshot, on the calling thread; it sees one state of the database however long it takes.
    ///
    /// The snapshot ends with the body and must not be kept. A body that takes long keeps the log from being emptied.
    /// - Throws: `.closed`, `.damaged`, `.inputOutput`; what `body` throws.
    public func read<T>(_ body: (Snapshot) throws -> T) throws -> T {
        try readers.read(body)
    }

    /// Runs `body` with a snapshot on a reader thread, then calls `completion` there.
    ///
    /// What the database has committed before the call is seen. With the option `.caller` both run before this returns.
    public func submitRead<T: Sendable>(
        _ body: @escaping @Sendable (Snapshot) throws -> T,
        completion: @escaping @Sendable (Result<T, any Error>) -> Void
    ) {
        readers.submit(body, completion)
    }

    // MARK: Writing

    /// Queues `body` for the writer, then calls `completion` on the writer's thread, in the order of the queue.
    ///
    /// Success is told only when the commit is on the disk. If `body` throws, what it did is undone, and nothing else;
    /// if the commit fails, all bodies of it fail. A body runs once at most.
    ///
    /// With the option `.caller` all of this happens before the call returns, unless it comes from inside a body or
    /// completion: then right after that one.
    /// Where `StoreLimits.queuedWritesMax` writes wait already, it fails at once with `.busy`.
    /// - Warning: body and completion keep all other writes waiting. Neither may wait for another write.
    public func submitWrite<T: Sendable>(
        _ body: @escaping @Sendable (WriteTransaction) throws -> T,
        completion: @escaping @Sendable (Result<T, any Error>) -> Void
    ) {
        writer.submit(WriteJob(body, completion))
    }

    /// Writes, and returns when the commit is on the disk: see `submitWrite`. A cancelled task does not stop it.
    ///
    /// - Throws: `.closed`, `.busy`, `.diskFull`, `.damaged`, `.inputOutput`; what `body` throws.
    public func write<T: Sendable>(_ body: @escaping @Sendable (WriteTransaction) throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            submitWrite(body) { continuation.resume(with: $0) }
        }
    }

    /// Writes, and keeps the calling thread until the commit is on the disk: for tools and tests.
    ///
    /// - Throws: as `write`; `.internal` when called from inside a body or completion, since it would wait for itself.
    public func writeBlocking<T: Sendable>(_ body: @escaping @Sendable (WriteTransaction) throws -> T) throws -> T {
        guard !writer.isCurrentThread else {
            throw KithError(
                .internal, "A write to database \(name.text) waits for itself",
                remedy: "Use the transaction at hand, or submitWrite")
        }
        let outcome = Monitor<Result<T, any Error>?>(nil)
        submitWrite(body) { result in outcome.update { $0 = result } }
        return try outcome.wait { $0 }.get()
    }

    /// Queues `body`, and tells its success as soon as it is committed, without waiting for the disk: in a power cut it may be
    /// lost, as long as no write that waits has been committed after it. For what only a later write makes use of.
    func submitUnflushedWrite<T: Sendable>(
        _ body: @escaping @Sendable (WriteTransaction) throws -> T,
        completion: @escaping @Sendable (Result<T, any Error>) -> Void
    ) {
        writer.submit(WriteJob(body, completion, waitsForDisk: false))
    }

    /// Writes that are queued and have not begun.
    public var queuedWriteCount: Int { writer.queuedCount }

    // MARK: Observing

    /// Calls `onCommit` with the last sequence after each commit that changed documents of a collection, on the writer's
    /// thread, after the completions of that commit.
    ///
    /// Commits of other processes are told as well, as soon as they are noticed, several of them perhaps as one; except
    /// with the option `.caller`.
    ///
    /// - Returns: keep it: the observation ends with it.
    public func observe(
        _ collection: CollectionName = .default, _ onCommit: @escaping @Sendable (UInt64) -> Void
    ) -> ObservationToken {
        observe(collection, onCommit: onCommit, onClose: nil)
    }

    /// The same, and calls `onClose` when the database closes before the observation has ended.
    func observe(
        _ collection: CollectionName, onCommit: @escaping @Sendable (UInt64) -> Void, onClose: (@Sendable () -> Void)?
    ) -> ObservationToken {
        let token = observers.add(.one(collection, onCommit), onClose: onClose, startWatching: startWatching)
        if bell != nil, observers.needsBeginning(collection) {
            // Read after the watch has begun. Where it cannot be read, the next look tells more rather than less.
            let place = try? read { snapshot in
                let number = try snapshot.collectionNumber(collection)
                return (number, try number == nil ? 0 : snapshot.collection(collection).lastSequence)
            }
            observers.begin(collection, number: place?.0, sequence: place?.1 ?? 0)
        }
        return token
    }

    /// The same for all collections, also those that are made later: tells the last sequences of those that have changed.
    ///
    /// - Returns: keep it: the observation ends with it.
    public func observeCollections(
        _ onCommit: @escaping @Sendable ([CollectionName: UInt64]) -> Void
    ) -> ObservationToken {
        observeCollections(onCommit, onClose: nil)
    }

    /// The same, and calls `onClose` when the database closes before the observation has ended.
    func observeCollections(
        _ onCommit: @escaping @Sendable ([CollectionName: UInt64]) -> Void, onClose: (@Sendable () -> Void)?
    ) -> ObservationToken {
        let token = observers.add(.all(onCommit), onClose: onClose, startWatching: startWatching)
        if bell != nil {
            // Where it cannot be read, the next look tells more rather than less.
            let places = try? read { snapshot in
                try snapshot.collections().map { name in
                    (name, try snapshot.collectionNumber(name), try snapshot.collection(name).lastSequence)
                }
            }
            for (name, number, sequence) in places ?? [] {
                observers.begin(name, number: number, sequence: sequence)
            }
        }
        return token
    }

    /// Begins to hear of the commits of other processes.
    private func startWatching() -> BellWatch? {
        guard let bell else { return nil }
        return bellWatcher.watch(bell.path) { [writer] in writer.lookForOthers() }
    }

    /// Observations and waits that have not ended: for tests.
    package var observerCount: Int { observers.count }

    /// Bytes that the database takes on the disk, its log included; 0 in memory.
    public var sizeOnDisk: UInt64 { DatabaseFile.isInMemory(path) ? 0 : DatabaseFile.size(path) }
}
