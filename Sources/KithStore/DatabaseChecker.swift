import KithDocuments

/// Looks for everything that can be wrong in a database, in one snapshot. A damaged row is told and passed over.
final class DatabaseChecker {
    /// A collection as its row describes it.
    struct Collection {
        let number: Int
        let name: CollectionName
        let counters: Counters
    }

    let connection: SQLiteConnection
    let signal: StopSignal
    private let progress: (MaintenanceProgress) -> Void
    private(set) var report = CheckReport()
    /// What the counters of all collections promise.
    private var documentsExpected = 0

    init(
        _ connection: SQLiteConnection, _ signal: StopSignal, _ progress: @escaping (MaintenanceProgress) -> Void
    ) {
        self.connection = connection
        self.signal = signal
        self.progress = progress
    }

    /// Checks everything.
    ///
    /// - Throws: why it was stopped; `.inputOutput`. What is damaged is no error but a fault.
    func run() throws -> CheckReport {
        tell(.file, 0, 1)
        try orFault("the file cannot be read") {
            try signal.interrupting(connection) {
                let limit = StoreLimits.checkFaultsListedMax
                for line in try connection.texts("PRAGMA integrity_check(\(limit))") where line != "ok" { fault(line) }
            }
        }
        var collections: [Collection] = []
        try orFault("the list of collections cannot be read") { collections = try readCollections() }
        try orFault("the list of tables cannot be read") { try checkTables(collections) }
        try orFault("the table meta cannot be read") { try checkMeta(collections) }
        documentsExpected = collections.reduce(0) { $0 &+ $1.counters.live &+ $1.counters.deleted }
        for collection in collections {
            report.collections += 1
            try orFault("the tables cannot be read", collection) {
                try CollectionChecker(self, collection).run()
            }
        }
        try orFault("the attachments cannot be read") { try BlobChecker(self, collections).run() }
        return report
    }

    // MARK: For the parts

    func fault(_ problem: String, _ collection: Collection? = nil, document: String? = nil) {
        report.add(CheckFault(collection: collection?.name, document: document, problem: problem))
    }

    /// Does something; what cannot be read in it becomes a fault.
    func orFault(
        _ problem: String, _ collection: Collection? = nil, document: String? = nil, _ body: () throws -> Void
    ) throws {
        do {
            try body()
        } catch let error as KithError where error.code == .damaged || error.code == .internal {
            // The latter is what SQLite says of tables and columns that are not there.
            fault("\(problem): \(error.message)", collection, document: document)
        }
    }

    /// Counts a document, and looks now and then whether to go on.
    func countDocument() throws {
        report.documents += 1
        guard report.documents % StoreLimits.checkRowsPerStep == 0 else { return }
        try signal.check()
        tell(.documents, report.documents, documentsExpected)
    }

    func countBlob(of total: Int) throws {
        report.blobs += 1
        try signal.check()
        tell(.blobs, report.blobs, total)
    }

    private func tell(_ phase: MaintenanceProgress.Phase, _ completed: Int, _ total: Int) {
        progress(MaintenanceProgress(phase: phase, completed: completed, total: max(completed, total)))
    }

    // MARK: What a database has once

    private func readCollections() throws -> [Collection] {
        var collections: [Collection] = []
        try connection.query("SELECT number, name, last_sequence, live, deleted, conflicts FROM collection") { row in
            while try row.step() {
                let number = row.int(0)
                let text = row.text(1)
                guard let name = try? CollectionName(text), name.text.utf8.elementsEqual(text.utf8) else {
                    fault("collection number \(number) has no legal name")
                    continue
                }
                collections.append(
                    Collection(
                        number: number, name: name,
                        counters: Counters(
                            lastSequence: row.uint(2), live: row.int(3), deleted: row.int(4), conflicts: row.int(5))))
                if row.int(2) < 0 { fault("the last sequence is below 0", collections.last) }
            }
        }
        if !collections.contains(where: { $0.number == StoreSchema.defaultCollection && $0.name == .default }) {
            fault("there is no collection _default")
        }
        return collections
    }

    /// Compares what tables and indexes there are with those that a new database with these collections would have.
    private func checkTables(_ collections: [Collection]) throws {
        let names = "SELECT type || ' ' || name FROM sqlite_schema WHERE name NOT LIKE 'sqlite!_%' ESCAPE '!'"
        let model = try SQLiteConnection(path: ":memory:", databaseName: connection.databaseName, mayCreate: true)
        defer { model.close() }
        try model.execute(StoreSchema.tables)
        try model.execute(StoreSchema.refusalTable)
        for collection in collections { try model.execute(StoreSchema.tables(ofCollection: collection.number)) }
        let expected = Set(try model.texts(names))
        let found = Set(try connection.texts(names))
        for name in expected.subtracting(found).sorted() { fault("there is no \(name)") }
        for name in found.subtracting(expected).sorted() { fault("there is a \(name), which is not Kith's") }
    }

    private func checkMeta(_ collections: [Collection]) throws {
        let columns = "public_id, private_id, last_collection, revisions_limit, keeps_old_bodies, merge_policy"
        try connection.query("SELECT \(columns) FROM meta") { row in
            guard try row.step() else { return fault("the file does not say which database it is") }
            for column in [0, 1] as [Int32] where !Self.isIdentifier(row.unownedBytes(column)) {
                fault("the \(column == 0 ? "public" : "private") ID of the database is not legal")
            }
            if collections.contains(where: { $0.number > row.int(2) || $0.number < 1 }) {
                fault("a collection has a number that was not given")
            }
            if !(1...StoreLimits.revisionsLimitMax).contains(row.int(3)) {
                fault("the limit of revisions is not legal")
            }
            if !(0...1).contains(row.int(4)) { fault("the setting for old bodies is not legal") }
            if !(0...1).contains(row.int(5)) { fault("the setting for merges is not legal") }
            if try row.step() { fault("the file says more than once which database it is") }
        }
    }

    private static func isIdentifier(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.count == 32
            && bytes.allSatisfy {
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            }
    }
}
