import KithDocuments

/// The part of a check that looks at attachments: that each is whole and used only by revisions that are there.
final class BlobChecker {
    private let checker: DatabaseChecker
    private let connection: SQLiteConnection
    private let collections: [Int: DatabaseChecker.Collection]
    private let pieces: PreparedQuery

    init(_ checker: DatabaseChecker, _ collections: [DatabaseChecker.Collection]) throws {
        self.checker = checker
        connection = checker.connection
        self.collections = Dictionary(collections.map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
        pieces = try PreparedQuery(
            "SELECT place, bytes, checksum FROM blob_piece WHERE place >= ?1 AND place < ?2 ORDER BY place",
            on: connection)
    }

    func run() throws {
        let total = try connection.number("SELECT count(*) FROM blob")
        try connection.query("SELECT number, digest, length FROM blob ORDER BY number") { row in
            while try row.step() {
                try checker.countBlob(of: total)
                let number = row.int(0)
                try checker.orFault("attachment number \(number) cannot be read") {
                    try checkBlob(number, digest: row.isNull(1) ? nil : row.bytes(1), length: row.int(2))
                }
            }
        }
        // One pass over all uses: there is no index by blob.
        let miscounted = """
            SELECT number FROM blob LEFT JOIN (SELECT blob, count(*) AS found FROM blob_use GROUP BY blob) ON blob = number
            WHERE uses <> ifnull(found, 0) LIMIT \(StoreLimits.checkFaultsListedMax)
            """
        for number in try texts(miscounted) {
            checker.fault("the uses of attachment number \(number) are counted wrongly")
        }
        let strays = """
            SELECT DISTINCT place >> \(BlobPlace.pieceBits) FROM blob_piece
            WHERE place >> \(BlobPlace.pieceBits) NOT IN (SELECT number FROM blob)
            LIMIT \(StoreLimits.checkFaultsListedMax)
            """
        for number in try texts(strays) {
            checker.fault("there are pieces of the unknown attachment \(number)")
        }
        try checker.signal.interrupting(connection) { try checkUses() }
        for collection in collections.values.sorted(by: { $0.number < $1.number }) {
            try checker.orFault("the attachments of documents cannot be read", collection) {
                try checker.signal.interrupting(connection) { try checkLists(collection) }
            }
        }
    }

    /// What a statement gives that looks at everything, and so may take long.
    private func texts(_ sql: String) throws -> [String] {
        try checker.signal.interrupting(connection) { try connection.texts(sql) }
    }

    /// One that is still being received has no digest, and its pieces need not be complete.
    private func checkBlob(_ number: Int, digest: [UInt8]?, length: Int) throws {
        if length < 0 { return checker.fault("attachment number \(number) has a length below 0") }
        if let digest, digest.count != 20 { checker.fault("attachment number \(number) has no legal digest") }
        let hasher = try MessageDigest(.sha1)
        try hasher.begin()
        var bytesRead = 0
        try pieces.use { row in
            let first = number << BlobPlace.pieceBits
            row.bind(first, at: 1)
            row.bind(first + 1 << BlobPlace.pieceBits, at: 2)
            while try row.step() {
                try checker.signal.check()
                let bytes = row.unownedBytes(1)
                guard digest != nil else { continue }
                // Each but the last is full, so the place of a piece follows from what was read before.
                let isInPlace = row.int(0) == first + bytesRead / StoreLimits.blobPieceBytes
                if !isInPlace || bytesRead % StoreLimits.blobPieceBytes != 0 || bytes.count > StoreLimits.blobPieceBytes
                {
                    bytesRead = -1
                    return
                }
                bytesRead += bytes.count
                if try !PieceChecksum.isRight(row.int(2), for: bytes, connection.hasher) {
                    checker.fault("the checksum of a piece of attachment number \(number) is wrong")
                }
                try hasher.add(bytes)
            }
        }
        guard let digest else { return }
        if bytesRead != length {
            checker.fault("attachment number \(number) is not whole")
        } else if try hasher.end() != digest {
            checker.fault("the bytes of attachment number \(number) are not those that its digest names")
        }
    }

    private func checkUses() throws {
        let uses = """
            SELECT u.collection, u.id, u.revision, u.blob, b.number IS NULL, b.digest IS NULL
            FROM blob_use u LEFT JOIN blob b ON b.number = u.blob ORDER BY u.collection
            """
        // Of the revisions of one collection, whether they have attachments.
        var current: (number: Int, query: PreparedQuery)?
        try connection.query(uses) { row in
            while try row.step() {
                try checker.signal.check()
                let id = row.text(1)
                guard let collection = collections[row.int(0)] else {
                    checker.fault("an attachment is used in a collection that is not there", document: id)
                    continue
                }
                if row.int(4) != 0 {
                    checker.fault("attachment number \(row.int(3)) is not there", collection, document: id)
                } else if row.int(5) != 0 {
                    checker.fault("attachment number \(row.int(3)) is not complete", collection, document: id)
                }
                if current?.number != collection.number {
                    current = (collection.number, try PreparedQuery(Self.hasList(collection.number), on: connection))
                }
                try current?.query.use { statement in
                    statement.bind(copying: id, at: 1)
                    statement.bind(copying: row.text(2), at: 2)
                    if try !statement.step() {
                        checker.fault("an attachment is used by a revision that has no body", collection, document: id)
                    } else if statement.int(0) == 0 {
                        checker.fault("an attachment is used by a revision that has none", collection, document: id)
                    }
                }
            }
        }
    }

    private static func hasList(_ number: Int) -> String {
        """
        SELECT attachments IS NOT NULL FROM document_\(number) WHERE id = ?1 AND revision = ?2
        UNION ALL SELECT attachments IS NOT NULL FROM leaf_\(number) WHERE id = ?1 AND revision = ?2
        """
    }

    /// Compares what each revision says of its attachments with the uses that are noted: housekeeping removes the bytes of
    /// which no use is noted.
    private func checkLists(_ collection: DatabaseChecker.Collection) throws {
        let noted = try PreparedQuery(
            """
            SELECT digest FROM blob_use LEFT JOIN blob ON number = blob
            WHERE collection = \(collection.number) AND id = ?1 AND revision = ?2
            """, on: connection)
        for table in ["document", "leaf"] {
            let lists = """
                SELECT id, revision, attachments FROM \(table)_\(collection.number) WHERE attachments IS NOT NULL
                """
            try connection.query(lists) { row in
                while try row.step() {
                    try checker.signal.check()
                    try checkList(row, collection, noted)
                }
            }
        }
    }

    private func checkList(
        _ row: SQLiteStatement, _ collection: DatabaseChecker.Collection, _ noted: PreparedQuery
    ) throws {
        let (id, revision) = (row.text(0), row.text(1))
        // What is not canonical was told already.
        guard let canonical = try? CanonicalJSON.canonicalize(row.unownedBytes(2)),
            canonical.elementsEqual(row.unownedBytes(2))
        else { return }
        guard let list = try? AttachmentList(canonical: canonical) else {
            return checker.fault("the attachments of \(revision) cannot be read", collection, document: id)
        }
        var found: Set<[UInt8]> = []
        try noted.use { statement in
            statement.bind(copying: id, at: 1)
            statement.bind(copying: revision, at: 2)
            while try statement.step() { found.insert(statement.bytes(0)) }
        }
        let expected = Set(list.digests.map(\.bytes))
        for digest in list.digests where !found.contains(digest.bytes) {
            checker.fault("the use of attachment \(digest) by \(revision) is not noted", collection, document: id)
        }
        if !found.subtracting(expected).isEmpty {
            checker.fault("\(revision) is noted to use an attachment that it does not have", collection, document: id)
        }
    }
}
