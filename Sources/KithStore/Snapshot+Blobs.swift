import KithDocuments

extension Snapshot {
    /// A blob that is stored as a whole; nil when it is not.
    public final func blob(_ digest: AttachmentDigest) throws -> Blob? {
        try blobRow(digest).map { Blob(digest: digest, length: $0.length) }
    }

    /// Reads a blob, or a part of it, piece by piece, each verified before it is given out.
    ///
    /// - Parameters:
    ///   - digest: of the blob.
    ///   - range: which bytes, from 0; nil for all. What lies beyond the end is left out.
    ///   - body: is given the bytes in order, at most 256 KiB at a time, which are only there inside it; returns whether to
    ///     go on.
    /// - Throws: `.notFound` when there is no such blob; `.damaged` when bytes are not those that were written, after all
    ///   before them were given out; what `body` throws.
    public final func readBlob(
        _ digest: AttachmentDigest, range: Range<UInt64>? = nil, _ body: (UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        let connection = try connection
        guard let (number, length) = try blobRow(digest) else {
            throw KithError(.notFound, "There is no blob \(digest) in database \(connection.databaseName)")
        }
        let range = (range ?? 0..<length).clamped(to: 0..<length)
        guard !range.isEmpty else { return }
        let size = UInt64(StoreLimits.blobPieceBytes)
        let (first, last) = (Int(range.lowerBound / size), Int((range.upperBound - 1) / size))
        var expected = first
        // A statement of its own, so that the closure may read another blob.
        let pieces = try PreparedQuery(StoreQuery.pieces.sql(collection: number), on: connection)
        try pieces.use { statement in
            statement.bind(BlobPlace.place(blob: number, piece: first), at: 1)
            statement.bind(BlobPlace.place(blob: number, piece: last), at: 2)
            statement.bind(last - first + 1, at: 3)
            while try statement.step() {
                let bytes = statement.unownedBytes(2)
                let start = UInt64(expected) * size
                let count = min(size, length - start)
                guard BlobPlace.piece(of: statement.int(0)) == expected, UInt64(bytes.count) == count,
                    try PieceChecksum.isRight(statement.int(1), for: bytes, connection.hasher)
                else { throw damagedBlob(digest) }
                let wanted = range.clamped(to: start..<(start + count))
                let isWanted = try body(
                    UnsafeRawBufferPointer(
                        rebasing: bytes[Int(wanted.lowerBound - start)..<Int(wanted.upperBound - start)]))
                expected += 1
                guard isWanted else { return }
            }
            guard expected == last + 1 else { throw damagedBlob(digest) }
        }
    }

    /// The SHA-1 over some bytes and then those of a blob: shows to somebody who chose the first that one has the others.
    ///
    /// - Throws: as `readBlob`.
    public final func blobProof(_ digest: AttachmentDigest, after prefix: [UInt8]) throws -> AttachmentDigest {
        let hasher = try MessageDigest(.sha1)
        try hasher.begin()
        try prefix.withUnsafeBytes { try hasher.add($0) }
        try readBlob(digest) { bytes in
            try hasher.add(bytes)
            return true
        }
        return try AttachmentDigest(bytes: hasher.end())
    }

    /// The beginnings of a blob that somebody left, the longest first.
    final func beginnings(of expected: Blob, now: Int64) throws -> [(number: Int, stored: Int)] {
        try connection.with(.blobBeginning) { statement in
            statement.bind(copyingBlob: expected.digest.bytes, at: 1)
            statement.bind(Int(expected.length), at: 2)
            statement.bind(Int(now), at: 3)
            var found: [(number: Int, stored: Int)] = []
            while try statement.step() { found.append((statement.int(0), statement.int(1))) }
            return found
        }
    }

    /// Reads bytes of a blob that is not finished, from and to the ends of pieces, each verified.
    ///
    /// - Returns: whether all of them are there and right.
    final func readPieces(
        ofBlob number: Int, from start: Int, to end: Int, _ body: (UnsafeRawBufferPointer) throws -> Void
    ) throws -> Bool {
        let size = StoreLimits.blobPieceBytes
        let connection = try connection
        return try connection.with(.pieces) { statement in
            statement.bind(BlobPlace.place(blob: number, piece: start / size), at: 1)
            statement.bind(BlobPlace.place(blob: number, piece: end / size - 1), at: 2)
            statement.bind((end - start) / size, at: 3)
            var offset = start
            while try statement.step() {
                let bytes = statement.unownedBytes(2)
                guard BlobPlace.piece(of: statement.int(0)) == offset / size, bytes.count == size,
                    try PieceChecksum.isRight(statement.int(1), for: bytes, connection.hasher)
                else { return false }
                try body(bytes)
                offset += size
            }
            return offset == end
        }
    }

    private func damagedBlob(_ digest: AttachmentDigest) -> KithError {
        KithError(
            .damaged, "Blob \(digest) of database \(lifetime.connection.databaseName) is damaged",
            remedy: "Keep the file, and restore the database from a peer or a backup")
    }

    final func blobRow(_ digest: AttachmentDigest) throws -> (number: Int, length: UInt64)? {
        try connection.with(.blobByDigest) { statement in
            statement.bind(copyingBlob: digest.bytes, at: 1)
            return try statement.step() ? (statement.int(0), statement.uint(1)) : nil
        }
    }

    /// Whether a revision of the document whose body is kept has attachments.
    final func usesBlobs(_ id: DocumentID) throws -> Bool {
        try connection.with(.hasBlobUses, in: number) { statement in
            statement.bind(id, at: 1)
            return try statement.step() && statement.int(0) != 0
        }
    }
}
