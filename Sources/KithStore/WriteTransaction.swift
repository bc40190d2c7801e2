import KithDocuments

/// A transaction of the writer: reads as a snapshot does, and sees what it has written itself.
///
/// It is valid inside the closure that it is given to, and belongs to one thread. When the storage fails in it (a full
/// disk), everything that the closure wrote is undone, even if it does not pass the error on.
public final class WriteTransaction: Snapshot {
    private var current: Counters
    private var countersBeforeBody: Counters
    private var changesBeforeBody = 0
    private var hasSavepoint = false
    /// What the storage reported in the current body; from then on every write throws it.
    private(set) var storageError: (any Error)?
    /// Whether SQLite has ended the transaction by itself, with all that was in it.
    private(set) var isLost = false
    /// Changes of documents so far that have not been undone.
    private(set) var changedDocumentCount = 0

    /// Begins a transaction.
    init(beginningOn connection: SQLiteConnection) throws {
        try connection.run(.beginWrite)
        do {
            current = try Self.readCounters(connection)
        } catch {
            if connection.isInTransaction { try? connection.run(.rollback) }
            throw error
        }
        current.lastSequence = max(current.lastSequence, connection.highestSequenceGiven)
        countersBeforeBody = current
        super.init(connection)
    }

    override func counters() throws -> Counters {
        _ = try connection
        return current
    }

    // MARK: For the writer

    /// Prepares for a body that may have to be undone alone.
    func beginBody(withSavepoint: Bool) throws {
        if withSavepoint { try connection.run(.savepoint) }
        hasSavepoint = withSavepoint
        countersBeforeBody = current
        changesBeforeBody = changedDocumentCount
        storageError = nil
    }

    /// Ends a body: keeps what it did, or undoes it if there is a savepoint.
    ///
    /// - Parameter error: what the body threw.
    /// - Returns: nil when the body's work stays in the transaction, else why not.
    func endBody(failedWith error: (any Error)?) -> (any Error)? {
        guard let connection = try? connection else { return error }
        var failure = storageError ?? error
        if failure == nil, connection.isInTransaction {
            do {
                if hasSavepoint { try connection.run(.releaseSavepoint) }
                return nil
            } catch {
                failure = error
            }
        }
        if connection.isInTransaction {
            do {
                if hasSavepoint {
                    try connection.run(.rollbackToSavepoint)
                    try connection.run(.releaseSavepoint)
                }
            } catch {
                isLost = true
            }
        } else {
            isLost = true
        }
        undoCounters()
        return failure ?? KithError(.internal, "Database \(connection.databaseName) ended a transaction by itself")
    }

    /// Undoes everything; harmless when the transaction is lost already.
    func rollBack() {
        guard let connection = try? connection else { return }
        if connection.isInTransaction { try? connection.run(.rollback) }
        end()
    }

    /// Makes everything durable.
    ///
    /// - Returns: the last sequence, if documents changed.
    /// - Throws: when nothing of the transaction is kept; it has to be rolled back then.
    func commit() throws -> UInt64? {
        let connection = try connection
        guard connection.isInTransaction else {
            throw KithError(.internal, "Database \(connection.databaseName) ended a transaction by itself")
        }
        if changedDocumentCount > 0 {
            try connection.with(.setCounters) { statement in
                statement.bind(current.lastSequence, at: 1)
                statement.bind(current.live, at: 2)
                statement.bind(current.deleted, at: 3)
                statement.bind(current.conflicts, at: 4)
                try statement.run()
            }
        }
        try connection.run(.commit)
        end()
        return changedDocumentCount > 0 ? current.lastSequence : nil
    }

    private func undoCounters() {
        // Sequences that the body has seen are skipped, not given again.
        let lastSequence = current.lastSequence
        current = countersBeforeBody
        current.lastSequence = lastSequence
        changedDocumentCount = changesBeforeBody
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
            storageError = error
            throw error
        }
    }

    /// A sequence that was never given before.
    func takeSequence(_ connection: SQLiteConnection) -> UInt64 {
        current.lastSequence += 1
        connection.highestSequenceGiven = current.lastSequence
        return current.lastSequence
    }

    /// Counts a change of a document.
    func count(from old: DocumentFlags?, to new: DocumentFlags) {
        if let old { current.add(old, -1) }
        current.add(new, 1)
        changedDocumentCount += 1
    }
}
