import KithDocuments

extension Database {
    /// Lets the file grow to no more than this many pages, as a full disk would: for tests; 0 takes the bound away.
    ///
    /// - Returns: the pages that the file has.
    @discardableResult
    package func limitPages(_ count: Int) throws -> Int {
        try connection.use { connection in
            _ = try connection.number("PRAGMA max_page_count = \(count == 0 ? 1_073_741_823 : count)")
            return try connection.number("PRAGMA page_count")
        }
    }

    /// Makes every commit fail, or no longer: for tests.
    package func setCommitsFail(_ isOn: Bool) throws {
        try connection.use { $0.setCommitsFail(isOn) }
    }

    /// What is wrong in the database, nothing when it is sound: SQLite's own check, then the store's invariants as
    /// DESIGN.md of this folder states them. Reads the whole database and keeps writes waiting.
    package func findFaults() throws -> [String] {
        try connection.use { connection in
            var faults = try connection.texts("PRAGMA integrity_check").filter { $0 != "ok" }
            let snapshot = Snapshot(connection)
            defer { snapshot.end() }
            for name in try snapshot.collections() {
                let inCollection = name == .default ? "" : " in collection \(name)"
                faults += try snapshot.collection(name).faultsOfCollection().map { $0 + inCollection }
            }
            return faults
        }
    }
}

extension Snapshot {
    fileprivate func faultsOfCollection() throws -> [String] {
        let connection = try connection
        var faults: [String] = []
        let counters = try counters()
        var found = Counters()
        found.lastSequence = counters.lastSequence
        var losingLeaves = 0
        try connection.with(.allForDigest, in: number) { statement in
            while try statement.step() {
                let id = statement.documentID(0)
                let row = try DocumentRow(sequence: 0, statement, revisionColumn: 1)
                let tree = try row.tree(connection.databaseName)
                let leaves = tree.storedLeaves
                var flags = DocumentFlags(leaves)
                if tree.hasOldBodies { flags.insert(.hasOldBodies) }
                if flags != row.flags { faults.append("the flags of \(id) are wrong") }
                if leaves[0] != row.winner { faults.append("the winner of \(id) is wrong") }
                if row.isSingle != (tree.count == 1) { faults.append("the tree of \(id) is not in its short form") }
                for entry in tree.entries where entry.hasBody && entry.revision != row.winner.revision {
                    losingLeaves += 1
                    _ = try leafBody(id, entry.revision, connection)
                }
                found.add(row.flags, 1)
            }
        }
        if found.live != counters.live { faults.append("live documents are counted wrongly") }
        if found.deleted != counters.deleted { faults.append("deleted documents are counted wrongly") }
        if found.conflicts != counters.conflicts { faults.append("conflicts are counted wrongly") }
        if try connection.number("SELECT count(*) FROM leaf_\(number)") != losingLeaves {
            faults.append("there are bodies of revisions that are no losing leaves")
        }
        let highest = try connection.number("SELECT coalesce(max(sequence), 0) FROM document_\(number)")
        if highest > Int(counters.lastSequence) { faults.append("a sequence is above the last one") }
        return faults
    }
}
