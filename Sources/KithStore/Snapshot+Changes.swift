import KithDocuments

extension Snapshot {
    /// The highest sequence that was ever given to a change, 0 in a new database.
    public final var lastSequence: UInt64 {
        get throws { try counters().lastSequence }
    }

    /// Documents whose winner is live.
    public final var documentCount: Int {
        get throws { try counters().live }
    }

    /// Documents whose winner is a tombstone.
    public final var deletedCount: Int {
        get throws { try counters().deleted }
    }

    /// Documents in conflict: those with more than one live leaf. A tombstone beside a live leaf is no conflict.
    public final var conflictCount: Int {
        get throws { try counters().conflicts }
    }

    /// How many documents changed after a sequence; the cost grows with that number.
    public final func pendingCount(since: UInt64) throws -> Int {
        guard since < UInt64(Int64.max) else { return 0 }
        let counters = try counters()
        let all = counters.live + counters.deleted
        if since == 0 { return all }
        // All are counted already, so it is enough to go through the shorter side.
        let countsBefore = since < counters.lastSequence / 2
        return try connection.with(countsBefore ? .countThrough : .pendingCount, in: number) { statement in
            statement.bind(since, at: 1)
            let count = try statement.step() ? statement.int(0) : 0
            return countsBefore ? all - count : count
        }
    }

    /// How many documents have their last change in a range of sequences; the cost grows with that number.
    public final func changedCount(in range: ClosedRange<UInt64>) throws -> Int {
        guard range.lowerBound <= UInt64(Int64.max) else { return 0 }
        return try connection.with(.countBetween, in: number) { statement in
            statement.bind(range.lowerBound, at: 1)
            statement.bind(min(range.upperBound, UInt64(Int64.max)), at: 2)
            return try statement.step() ? statement.int(0) : 0
        }
    }

    /// Documents in conflict by the bytes of their IDs; the cost grows with their number, not with the database.
    public final func conflicts(limit: Int, startingAfter: DocumentID? = nil) throws -> [Change] {
        guard limit > 0 else { return [] }
        let connection = try connection
        return try connection.with(.conflicts, in: number) { statement in
            // No ID is empty, so all come after the empty text.
            statement.bind(copying: startingAfter?.text ?? "", at: 1)
            statement.bind(limit, at: 2)
            return try Self.changes(statement, connection)
        }
    }

    private static func changes(_ statement: SQLiteStatement, _ connection: SQLiteConnection) throws -> [Change] {
        var changes: [Change] = []
        while try statement.step() {
            let row = try DocumentRow(sequence: statement.uint(0), statement, revisionColumn: 2)
            changes.append(
                Change(
                    sequence: row.sequence, id: statement.documentID(1),
                    leaves: try row.leaves(connection.databaseName)))
        }
        return changes
    }
}
