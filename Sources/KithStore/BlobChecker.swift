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
        let miscounted = """
            SELECT number FROM blob
            WHERE uses <> (SELECT count(*) FROM blob_use WHERE blob_use.blob = blob.number)
            LIMIT \(StoreLimits.checkFaultsListedMax)
            """
        for number in try connection.texts(miscounted) {
            checker.fault("the uses of attachment number \(number) are counted wrongly")
        }
        let strays = """
            SELECT DISTINCT place >> \(BlobPlace.pieceBits) FROM blob_piece
            WHERE place >> \(BlobPlace.pieceBits) NOT IN (SELECT number FROM blob)
            LIMIT \(StoreLimits.checkFaultsListedMax)
            """
        for number in try connection.texts(strays) {
            checker.fault("there are pieces of the unknown attachment \(number)")
        }
        try checkUses()
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
                if try connection.hasher.checksum(bytes) != row.int(2) {
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
                    current = (collection.number, try PreparedQuery(Self.hasBody(collection.number), on: connection))
                }
                let hasBody = try current?.query.use { statement in
                    statement.bind(copying: id, at: 1)
                    statement.bind(copying: row.text(2), at: 2)
                    return try statement.step() && statement.int(0) != 0
                }
                if hasBody != true {
                    checker.fault("an attachment is used by a revision that has no body", collection, document: id)
                }
            }
        }
    }

    private static func hasBody(_ number: Int) -> String {
        """
        SELECT EXISTS (SELECT 1 FROM document_\(number) WHERE id = ?1 AND revision = ?2)
            OR EXISTS (SELECT 1 FROM leaf_\(number) WHERE id = ?1 AND revision = ?2)
        """
    }
}
