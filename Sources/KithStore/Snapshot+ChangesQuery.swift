import KithDocuments

extension Snapshot {
    /// The changes that a query asks for, each document once, with its last change.
    ///
    /// All of them are in memory at once; `forEachChange` is for a list without a bound.
    public final func changes(_ query: ChangesQuery) throws -> [Change] {
        var changes: [Change] = []
        try forEachPage(query) { page in
            changes.append(contentsOf: page)
            return true
        }
        return changes
    }

    /// Documents that changed after a sequence, in the order of their last changes, each once, with all leaves.
    public final func changes(since: UInt64, limit: Int) throws -> [Change] {
        try changes(ChangesQuery(since: since, limit: limit))
    }

    /// Calls `body` with each change that a query asks for, until it returns false; a page of them is in memory at a time.
    ///
    /// The body may use this snapshot. What it writes, where this is a transaction, is not listed: the list ends with
    /// what had changed when it began.
    public final func forEachChange(_ query: ChangesQuery, _ body: (Change) throws -> Bool) throws {
        try forEachPage(query) { page in
            for change in page where try !body(change) { return false }
            return true
        }
    }

    /// The changes up to the limit, or as many as make one page, and the last sequence of this state.
    final func firstPage(_ query: ChangesQuery) throws -> (changes: [Change], lastSequence: UInt64) {
        var first: [Change] = []
        try forEachPage(query) { page in
            first = page
            return false
        }
        return (first, try lastSequence)
    }

    /// A page is read and its statement ended before `body` sees it, so that this may use the same statements again.
    private func forEachPage(_ query: ChangesQuery, _ body: ([Change]) throws -> Bool) throws {
        let last = min(try lastSequence, query.through ?? .max)
        guard query.limit > 0, query.since < last else { return }
        if let ids = query.documentIDs { return try forEachPage(of: ids, query, until: last, body) }
        var (above, upTo, left) = (query.since, last, query.limit)
        var page: [Change] = []
        while left > 0, above < upTo {
            page.removeAll(keepingCapacity: true)
            try readPage(query, above: above, upTo: upTo, limit: min(left, StoreLimits.changesPerPageMax), into: &page)
            guard let end = page.last?.sequence else { return }
            left -= page.count
            if query.isDescending { upTo = end - 1 } else { above = end }
            if try !body(page) { return }
        }
    }

    private func readPage(
        _ query: ChangesQuery, above: UInt64, upTo: UInt64, limit: Int, into page: inout [Change]
    ) throws {
        let connection = try connection
        try connection.with(query.isDescending ? .changesDescending : .changes, in: number) { statement in
            statement.bind(above, at: 1)
            statement.bind(upTo, at: 2)
            statement.bind(limit, at: 3)
            statement.bind(query.includesBodies ? 1 : 0, at: 4)
            var bytes = 0
            while bytes < StoreLimits.changesPageBytesMax, try statement.step() {
                page.append(try change(statement, query, connection))
                if query.includesBodies { bytes += page[page.count - 1].bodies.reduce(0) { $0 + $1.count } }
            }
        }
    }

    /// Documents that are looked up one by one.
    private func forEachPage(
        of ids: [DocumentID], _ query: ChangesQuery, until last: UInt64, _ body: ([Change]) throws -> Bool
    ) throws {
        let connection = try connection
        var places: [(sequence: UInt64, id: DocumentID)] = []
        for id in Set(ids) {
            let sequence: UInt64? = try connection.with(.sequence, in: number) { statement in
                statement.bind(id, at: 1)
                return try statement.step() ? statement.uint(0) : nil
            }
            if let sequence, sequence > query.since, sequence <= last { places.append((sequence, id)) }
        }
        places.sort { query.isDescending ? $0.sequence > $1.sequence : $0.sequence < $1.sequence }
        var waiting = places.prefix(query.limit)
        var page: [Change] = []
        while !waiting.isEmpty {
            page.removeAll(keepingCapacity: true)
            var bytes = 0
            while page.count < StoreLimits.changesPerPageMax, bytes < StoreLimits.changesPageBytesMax,
                let place = waiting.popFirst()
            {
                // In a transaction the body may have moved the document meanwhile.
                try readPage(query, above: place.sequence - 1, upTo: place.sequence, limit: 1, into: &page)
                if query.includesBodies { bytes += page.last?.bodies.reduce(0) { $0 + $1.count } ?? 0 }
            }
            if try !body(page) { return }
        }
    }

    /// The change that a row tells: columns sequence, id, revision, flags, tree, body.
    @inline(__always)
    private func change(
        _ statement: SQLiteStatement, _ query: ChangesQuery, _ connection: SQLiteConnection
    ) throws -> Change {
        let sequence = statement.uint(0)
        let id = statement.documentID(1)
        let flags = DocumentFlags(rawValue: statement.int(3))
        guard query.style == .allLeaves, flags.contains(.hasBranches) else {
            let winner = Leaf(revision: try statement.revision(2), isDeleted: flags.contains(.isDeleted))
            return Change(
                sequence: sequence, id: id, winner: winner, bodies: query.includesBodies ? [statement.bytes(5)] : [])
        }
        let row = try DocumentRow(sequence: sequence, statement, revisionColumn: 2)
        let leaves = try row.leaves(connection.databaseName)
        var bodies: [[UInt8]] = []
        if query.includesBodies {
            bodies.append(statement.bytes(5))
            for leaf in leaves.dropFirst() { bodies.append(try leafBody(id, leaf.revision, connection).body) }
        }
        return Change(sequence: sequence, id: id, leaves: leaves, bodies: bodies)
    }
}
