import KithDocuments

/// A transaction of the writer: reads as a snapshot does, and sees what it has written itself.
///
/// It writes to the collection `_default`; `collection(_:)` gives a view of another one in the same transaction. It is
/// valid inside the closure that it is given to, and belongs to one thread. When the storage fails in it (a full disk),
/// everything that the closure wrote is undone, even if it does not pass the error on.
public final class WriteTransaction: Snapshot {
    /// For a view of another collection: the transaction itself, which owns it. It is only used while that is valid.
    private unowned let owner: WriteTransaction?
    /// Views of other collections, by number.
    private var views: [Int: WriteTransaction] = [:]

    private var current: Counters
    private var countersBeforeBody: Counters
    private var changesBeforeBody = 0
    private var changeCount = 0

    // These are the transaction's, not a view's.
    private var hasSavepoint = false
    private var failure: (any Error)?
    private var wasLost = false
    private var readSettings: DatabaseSettings?
    private var due: Int64?

    private var root: WriteTransaction { owner ?? self }
    /// What the storage reported in the current body; from then on every write throws it.
    private var storageError: (any Error)? { root.failure }
    /// Whether SQLite has ended the transaction by itself, with all that was in it.
    var isLost: Bool { root.wasLost }
    /// Changes of documents so far that have not been undone, in all collections.
    var changedDocumentCount: Int { root.views.values.reduce(root.changeCount) { $0 + $1.changeCount } }

    /// When something is to be done for what this has written, in milliseconds since 1970.
    var housekeepingDue: Int64? { root.due }

    /// Begins a transaction.
    init(beginningOn connection: SQLiteConnection) throws {
        try connection.run(.beginWrite)
        do {
            current = try Self.readCounters(connection, StoreSchema.defaultCollection)
        } catch {
            if connection.isInTransaction { try? connection.run(.rollback) }
            throw error
        }
        owner = nil
        countersBeforeBody = current
        super.init(connection)
        skipSequencesGiven(connection)
    }

    /// A view of another collection.
    private init(viewOf owner: WriteTransaction, collection number: Int, _ name: CollectionName) throws {
        let connection = try owner.connection
        self.owner = owner
        current = try Self.readCounters(connection, number)
        countersBeforeBody = current
        super.init(of: owner, collection: number, name)
        skipSequencesGiven(connection)
    }

    override func counters() throws -> Counters {
        _ = try connection
        return current
    }

    /// The same transaction, for the documents of another collection.
    ///
    /// - Throws: `.notFound` when there is none of that name.
    public override func collection(_ name: CollectionName) throws -> WriteTransaction {
        let number = try numberOfCollection(name)
        let root = root
        if number == root.number { return root }
        if let view = root.views[number] { return view }
        let view = try WriteTransaction(viewOf: root, collection: number, name)
        root.views[number] = view
        return view
    }

    public override func settings() throws -> DatabaseSettings {
        let root = root
        if let settings = root.readSettings { return settings }
        let settings = try super.settings()
        root.readSettings = settings
        return settings
    }

    // MARK: For the writer

    /// Prepares for a body that may have to be undone alone.
    func beginBody(withSavepoint: Bool) throws {
        if withSavepoint { try connection.run(.savepoint) }
        hasSavepoint = withSavepoint
        failure = nil
        noteCounters()
        for view in views.values { view.noteCounters() }
    }

    /// Ends a body: keeps what it did, or undoes it if there is a savepoint.
    ///
    /// - Parameter error: what the body threw.
    /// - Returns: nil when the body's work stays in the transaction, else why not.
    func endBody(failedWith error: (any Error)?) -> (any Error)? {
        guard let connection = try? connection else { return error }
        var reason = failure ?? error
        if reason == nil, connection.isInTransaction {
            do {
                if hasSavepoint { try connection.run(.releaseSavepoint) }
                return nil
            } catch {
                reason = error
            }
        }
        if connection.isInTransaction {
            do {
                if hasSavepoint {
                    try connection.run(.rollbackToSavepoint)
                    try connection.run(.releaseSavepoint)
                }
            } catch {
                wasLost = true
            }
        } else {
            wasLost = true
        }
        undoCounters()
        // A view that the body made counts from what it had found; a collection that it made is no longer there.
        for view in views.values { view.undoCounters() }
        for (number, view) in views where view.changeCount == 0 { forget(view, number) }
        readSettings = nil
        return reason ?? KithError(.internal, "Database \(connection.databaseName) ended a transaction by itself")
    }

    /// Undoes everything; harmless when the transaction is lost already.
    func rollBack() {
        guard let connection = try? connection else { return }
        if connection.isInTransaction { try? connection.run(.rollback) }
        finish(connection)
    }

    /// Makes everything durable.
    ///
    /// - Returns: the last sequence of each collection in which documents changed.
    /// - Throws: when nothing of the transaction is kept; it has to be rolled back then.
    func commit() throws -> [CollectionName: UInt64] {
        let connection = try connection
        guard connection.isInTransaction else {
            throw KithError(.internal, "Database \(connection.databaseName) ended a transaction by itself")
        }
        var changed: [CollectionName: UInt64] = [:]
        for view in [self] + views.values where view.changeCount > 0 {
            try view.writeCounters(connection)
            // A collection may have been dropped and made again here: then there are two of the name.
            changed[view.collectionName] = max(changed[view.collectionName] ?? 0, view.current.lastSequence)
        }
        try connection.run(.commit)
        finish(connection)
        return changed
    }

    /// Ends this, and notes which sequences were given, also by bodies that were undone: they have seen them.
    private func finish(_ connection: SQLiteConnection) {
        for view in [self] + views.values { forget(view, nil) }
        views = [:]
        end()
    }

    private func forget(_ view: WriteTransaction, _ number: Int?) {
        lifetime.connection.highestSequenceGiven[view.number] = view.current.lastSequence
        if let number { views[number] = nil }
    }

    private func skipSequencesGiven(_ connection: SQLiteConnection) {
        current.lastSequence = max(current.lastSequence, connection.highestSequenceGiven[number] ?? 0)
    }

    private func noteCounters() {
        countersBeforeBody = current
        changesBeforeBody = changeCount
    }

    private func undoCounters() {
        // Sequences that the body has seen are skipped, not given again.
        let lastSequence = current.lastSequence
        current = countersBeforeBody
        current.lastSequence = lastSequence
        changeCount = changesBeforeBody
    }

    private func writeCounters(_ connection: SQLiteConnection) throws {
        try connection.with(.setCounters, in: number) { statement in
            statement.bind(current.lastSequence, at: 1)
            statement.bind(current.live, at: 2)
            statement.bind(current.deleted, at: 3)
            statement.bind(current.conflicts, at: 4)
            try statement.run()
        }
    }

    // MARK: For the operations

    /// Runs what changes tables: if the storage fails, the whole body is undone.
    func storing<Result>(_ body: (SQLiteConnection) throws -> Result) throws -> Result {
        let connection = try connection
        if let storageError { throw storageError }
        do {
            guard connection.isInTransaction else {
                throw KithError(.inputOutput, "Database \(connection.databaseName) ended a transaction by itself")
            }
            return try body(connection)
        } catch {
            root.failure = error
            throw error
        }
    }

    /// A sequence that was never given before.
    func takeSequence() -> UInt64 {
        current.lastSequence += 1
        return current.lastSequence
    }

    /// Gives the last sequence of a collection that is dropped.
    func takeSequenceForDropping() -> UInt64 {
        changeCount += 1
        return takeSequence()
    }

    /// Counts a change of a document: nil stands for one that is not there.
    func count(from old: DocumentFlags?, to new: DocumentFlags?) {
        if let old { current.add(old, -1) }
        if let new { current.add(new, 1) }
        changeCount += 1
    }

    /// Has housekeeping done at a time.
    func scheduleHousekeeping(at time: Int64) {
        root.due = min(root.due ?? .max, time)
    }

    /// Forgets the settings that were read, since they have changed.
    func settingsChanged() {
        root.readSettings = nil
    }
}
