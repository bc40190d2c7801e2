import KithDocuments

/// The part of a check that looks at one collection: each document with its tree and bodies, then what is counted.
final class CollectionChecker {
    private let checker: DatabaseChecker
    private let collection: DatabaseChecker.Collection
    private let connection: SQLiteConnection
    private let leafQuery: PreparedQuery
    /// Nil where no attachment is used in the whole database.
    private let useQuery: PreparedQuery?
    private var found = Counters()
    private var bodiesExpected = 0

    init(_ checker: DatabaseChecker, _ collection: DatabaseChecker.Collection) throws {
        self.checker = checker
        self.collection = collection
        connection = checker.connection
        leafQuery = try PreparedQuery(
            "SELECT body, attachments FROM leaf_\(collection.number) WHERE id = ?1 AND revision = ?2", on: connection)
        let hasUses = try connection.number("SELECT EXISTS (SELECT 1 FROM blob_use)") != 0
        useQuery =
            hasUses
            ? try PreparedQuery(
                "SELECT EXISTS (SELECT 1 FROM blob_use WHERE collection = \(collection.number) AND id = ?1)",
                on: connection) : nil
    }

    func run() throws {
        try checkDocuments()
        let counters = collection.counters
        if found.live != counters.live { fault("live documents are counted wrongly") }
        if found.deleted != counters.deleted { fault("deleted documents are counted wrongly") }
        if found.conflicts != counters.conflicts { fault("conflicts are counted wrongly") }
        try checker.orFault("bodies of losing leaves cannot be read", collection) {
            let count = try connection.number("SELECT count(*) FROM leaf_\(collection.number)")
            if count != bodiesExpected { try findStrayBodies() }
        }
    }

    private func fault(_ problem: String, _ document: String? = nil) {
        checker.fault(problem, collection, document: document)
    }

    // MARK: Documents

    private static let columns = "sequence, id, revision, flags, tree, attachments, body"

    private func checkDocuments() throws {
        let table = "document_\(collection.number)"
        var last = Int.min
        do {
            try connection.query("SELECT \(Self.columns) FROM \(table) ORDER BY sequence") { row in
                while try row.step() {
                    last = row.int(0)
                    try checkDocument(row)
                }
            }
        } catch let error as KithError where error.code == .damaged {
            fault("documents after sequence \(last == .min ? 0 : last) cannot be read in their order: \(error.message)")
            // The index by ID leads to those behind the damaged page.
            let rest = try PreparedQuery("SELECT \(Self.columns) FROM \(table) WHERE sequence = ?1", on: connection)
            let index = "sqlite_autoindex_\(table)_1"
            try connection.query("SELECT sequence, id FROM \(table) INDEXED BY \(index) ORDER BY id") { row in
                while try row.step() {
                    if row.int(0) <= last { continue }
                    try checker.orFault("it cannot be read", collection, document: row.text(1)) {
                        try rest.use { document in
                            document.bind(row.int(0), at: 1)
                            if try document.step() { try checkDocument(document) }
                        }
                    }
                }
            }
        }
    }

    private func checkDocument(_ row: SQLiteStatement) throws {
        try checker.countDocument()
        let id = row.text(1)
        let flags = DocumentFlags(rawValue: row.int(3))
        found.add(flags, 1)
        if (try? DocumentID(utf8: row.unownedBytes(1))) == nil { fault("its ID is not legal", id) }
        if row.int(0) < 1 { fault("its sequence is below 1", id) }
        if row.uint(0) > collection.counters.lastSequence, row.int(0) > 0 {
            fault("its sequence is above the last one", id)
        }
        checkText(row.unownedBytes(6), of: id, nil)
        checkAttachments(row, 5, of: id, nil)
        let document: DocumentRow
        do {
            document = try DocumentRow(sequence: row.uint(0), row, revisionColumn: 2)
        } catch {
            return fault("its revision ID is not legal", id)
        }
        guard let tree = readTree(document, id) else { return }
        let leaves = tree.storedLeaves
        guard let winner = leaves.first else { return fault("its revision tree has no leaf", id) }
        if winner.revision != document.winner.revision {
            fault("its winner is \(winner.revision), not the one told", id)
        }
        if document.isSingle != (tree.count == 1 && tree.prunedCount == 0) {
            fault("its revision tree is not in its short form", id)
        }
        var expected = DocumentFlags(leaves)
        let entries = tree.entries
        if tree.hasOldBodies { expected.insert(.hasOldBodies) }
        if try hasUses(id) { expected.insert(.hasAttachments) }
        if expected != flags { fault("its flags are \(flags.rawValue), not \(expected.rawValue)", id) }
        for entry in entries where entry.isLeaf || entry.hasBody {
            if !entry.hasBody { fault("its revision tree says that leaf \(entry.revision) has no body", id) }
            if entry.revision != document.winner.revision { try checkLeafBody(id, entry.revision) }
        }
    }

    private func readTree(_ row: DocumentRow, _ id: String) -> RevisionTree? {
        do {
            guard let encoded = row.encodedTree else {
                var tree = RevisionTree()
                try tree.insert(row.winner.revision, isDeleted: row.winner.isDeleted)
                return tree
            }
            return try RevisionTree(decoding: encoded)
        } catch {
            fault("its revision tree cannot be read: \(error.message)", id)
            return nil
        }
    }

    private func checkLeafBody(_ id: String, _ revision: RevisionID) throws {
        try checker.orFault("the body of \(revision) cannot be read", collection, document: id) {
            try leafQuery.use { statement in
                statement.bind(copying: id, at: 1)
                statement.bind(revision, at: 2)
                guard try statement.step() else { return fault("revision \(revision) has no body", id) }
                bodiesExpected += 1
                checkText(statement.unownedBytes(0), of: id, revision)
                checkAttachments(statement, 1, of: id, revision)
            }
        }
    }

    private func checkText(_ body: UnsafeRawBufferPointer, of id: String, _ revision: RevisionID?) {
        let canonical = try? CanonicalJSON.canonicalizeBody(body)
        guard let canonical, canonical.elementsEqual(body) else {
            return fault("the body of \(revision?.description ?? "the winner") is not canonical JSON", id)
        }
    }

    private func checkAttachments(_ row: SQLiteStatement, _ column: Int32, of id: String, _ revision: RevisionID?) {
        guard !row.isNull(column) else { return }
        let text = row.unownedBytes(column)
        let canonical = try? CanonicalJSON.canonicalize(text)
        guard let canonical, canonical.elementsEqual(text) else {
            return fault("the attachments of \(revision?.description ?? "the winner") are not canonical JSON", id)
        }
    }

    private func hasUses(_ id: String) throws -> Bool {
        guard let useQuery else { return false }
        return try useQuery.use { statement in
            statement.bind(copying: id, at: 1)
            return try statement.step() && statement.int(0) != 0
        }
    }

    // MARK: Bodies that no tree knows

    private func findStrayBodies() throws {
        let table = "document_\(collection.number)"
        let query = try PreparedQuery("SELECT revision, flags, tree FROM \(table) WHERE id = ?1", on: connection)
        try connection.query("SELECT id, revision FROM leaf_\(collection.number)") { row in
            while try row.step() {
                try checker.signal.check()
                let id = row.text(0)
                try checker.orFault("its row cannot be read", collection, document: id) {
                    try query.use { document in
                        document.bind(copying: id, at: 1)
                        guard try document.step() else { return fault("there is a body, but no document", id) }
                        checkIsExpected(row, try DocumentRow(sequence: 0, document, revisionColumn: 0), id)
                    }
                }
            }
        }
    }

    private func checkIsExpected(_ leaf: SQLiteStatement, _ document: DocumentRow, _ id: String) {
        guard let revision = try? leaf.revision(1) else { return fault("there is a body of an illegal revision", id) }
        let tree = document.encodedTree.map { try? RevisionTree(decoding: $0) }
        // A tree that cannot be read was told already.
        if case .some(nil) = tree { return }
        if revision == document.winner.revision { return fault("the winner's body is there twice", id) }
        guard let entry = tree??[revision] else {
            return fault("there is a body of the unknown revision \(revision)", id)
        }
        if !entry.hasBody {
            fault("there is a body of \(revision), of which the revision tree says that it has none", id)
        }
    }
}
