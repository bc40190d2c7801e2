import KithDocuments

extension WriteTransaction {
    /// Stores a blob that is at hand as a whole, or finds that it is there; a document of the same transaction has to use it,
    /// or it goes away again. Larger ones are streamed in: `Database.makeBlob`.
    public func addBlob(_ bytes: [UInt8]) throws -> Blob {
        let digest = try AttachmentDigest(bytes: MessageDigest(.sha1).hash(bytes))
        if let blob = try blob(digest) { return blob }
        let number = try insertBlob(digest: digest, length: bytes.count, leasedUntil: 0)
        var piece = 0
        while piece * StoreLimits.blobPieceBytes < bytes.count {
            let start = piece * StoreLimits.blobPieceBytes
            let end = min(start + StoreLimits.blobPieceBytes, bytes.count)
            try insertPiece(bytes[start..<end], blob: number, piece: piece)
            piece += 1
        }
        scheduleHousekeeping(at: 0)
        return Blob(digest: digest, length: UInt64(bytes.count))
    }

    // MARK: Streaming in

    /// Adds pieces to a blob that is under way, the first of which begins it.
    ///
    /// - Parameters:
    ///   - number: of the blob; nil for a new one.
    ///   - pieces: all of the full size, except for the last of the blob.
    ///   - stored: bytes stored before.
    ///   - leasedUntil: until when it stays if nobody goes on with it.
    ///   - expected: what a new one is to become, if it is worth taking up again.
    /// - Returns: the number of the blob.
    func extendBlob(
        _ number: Int?, by pieces: [ArraySlice<UInt8>], after stored: Int, leasedUntil: Int64, expected: Blob? = nil
    ) throws -> Int {
        let length = pieces.reduce(stored) { $0 + $1.count }
        let blob: Int
        if let number {
            try storing { connection in
                try connection.with(.extendBlob) { statement in
                    statement.bind(number, at: 1)
                    statement.bind(stored, at: 2)
                    statement.bind(length, at: 3)
                    statement.bind(Int(leasedUntil), at: 4)
                    try statement.run()
                }
                guard connection.changedRowCount == 1 else {
                    throw KithError(
                        .notFound, "The beginning of a blob was removed since nobody went on with it",
                        remedy: "Send it again from the start")
                }
            }
            blob = number
        } else {
            blob = try insertBlob(digest: nil, length: length, leasedUntil: leasedUntil, expected: expected)
            // Somebody who adds to it moves the end of its lease; else nobody would look when that has come.
            scheduleHousekeeping(at: leasedUntil)
        }
        var piece = stored / StoreLimits.blobPieceBytes
        for bytes in pieces {
            try insertPiece(bytes, blob: blob, piece: piece)
            piece += 1
        }
        return blob
    }

    /// Ends a blob that is under way: from now on it can be found by its digest.
    ///
    /// - Parameter number: nil where not even one piece was stored before.
    func finishBlob(
        _ number: Int?, lastPieces: [ArraySlice<UInt8>], after stored: Int, digest: AttachmentDigest, leasedUntil: Int64
    ) throws {
        if let (known, _) = try blobRow(digest) {
            try storing { connection in
                try connection.with(.leaseBlob) { statement in
                    statement.bind(known, at: 1)
                    statement.bind(Int(leasedUntil), at: 2)
                    try statement.run()
                }
            }
            if let number { try abandonBlob(number, after: stored) }
            return
        }
        let number = try extendBlob(number, by: lastPieces, after: stored, leasedUntil: leasedUntil)
        try storing { connection in
            try connection.with(.finishBlob) { statement in
                statement.bind(number, at: 1)
                statement.bind(copyingBlob: digest.bytes, at: 2)
                statement.bind(Int(leasedUntil), at: 3)
                try statement.run()
            }
        }
        scheduleHousekeeping(at: leasedUntil)
    }

    /// Gives up a blob that is under way, unless somebody else has added to it since it had `stored` bytes: then it is theirs.
    func abandonBlob(_ number: Int, after stored: Int) throws {
        try storing { connection in
            try connection.with(.abandonBlob) { statement in
                statement.bind(number, at: 1)
                statement.bind(stored, at: 2)
                try statement.run()
            }
        }
        scheduleHousekeeping(at: 0)
    }

    /// Lets the beginning of a blob stay longer, since somebody goes on with it.
    func leaseBeginning(_ number: Int, until: Int64) throws {
        try storing { connection in
            try connection.with(.resumeBlob) { statement in
                statement.bind(number, at: 1)
                statement.bind(Int(until), at: 2)
                try statement.run()
            }
        }
        scheduleHousekeeping(at: until)
    }

    /// The beginnings of all blobs that are to be taken up again, the newest first.
    func allBeginnings() throws -> [(number: Int, stored: Int, leasedUntil: Int64)] {
        try connection.with(.blobBeginnings) { statement in
            var found: [(number: Int, stored: Int, leasedUntil: Int64)] = []
            while try statement.step() {
                found.append((statement.int(0), statement.int(1), Int64(statement.int(2))))
            }
            return found
        }
    }

    /// Gives up the beginnings of a blob to which nobody of this process is adding.
    func abandonBeginnings(of blob: Blob, _ claims: [Int: BlobClaim]) throws {
        for (number, stored) in try beginnings(of: blob, now: .min) where claims[number] != .adding {
            try abandonBlob(number, after: stored)
        }
    }

    private func insertBlob(
        digest: AttachmentDigest?, length: Int, leasedUntil: Int64, expected: Blob? = nil
    ) throws -> Int {
        try storing { connection in
            try connection.with(.insertBlob) { statement in
                if let digest { statement.bind(copyingBlob: digest.bytes, at: 1) }
                statement.bind(length, at: 2)
                statement.bind(Int(leasedUntil), at: 3)
                if let expected {
                    statement.bind(copyingBlob: expected.digest.bytes, at: 4)
                    statement.bind(Int(expected.length), at: 5)
                }
                try statement.run()
            }
            return connection.lastInsertedRow
        }
    }

    private func insertPiece(_ bytes: ArraySlice<UInt8>, blob: Int, piece: Int) throws {
        try storing { connection in
            let checksum = bytes.withUnsafeBytes { PieceChecksum.of($0) }
            try connection.with(.insertPiece) { statement in
                statement.bind(BlobPlace.place(blob: blob, piece: piece), at: 1)
                statement.bind(checksum, at: 2)
                try bytes.withUnsafeBufferPointer { bytes in
                    statement.bind(unownedBlob: bytes, at: 3)
                    try statement.run()
                }
            }
        }
    }

    // MARK: Use by documents

    /// Notes that a revision uses the blobs of its attachments.
    ///
    /// - Throws: `.attachmentMissing` when one is not stored as a whole; then nothing is noted.
    func useBlobs(of attachments: AttachmentList, _ id: DocumentID, _ revision: RevisionID) throws {
        let numbers = try numbersOfBlobs(of: attachments, id)
        try storing { connection in
            for number in numbers {
                try connection.with(.insertBlobUse, in: self.number) { statement in
                    statement.bind(id, at: 1)
                    statement.bind(revision, at: 2)
                    statement.bind(number, at: 3)
                    try statement.run()
                }
                guard connection.changedRowCount == 1 else { continue }
                try connection.with(.countBlobUse) { statement in
                    statement.bind(number, at: 1)
                    try statement.run()
                }
            }
        }
    }

    /// The numbers of the blobs that attachments need, each once.
    ///
    /// - Throws: `.attachmentMissing` when one is not stored as a whole, or has another length.
    func numbersOfBlobs(of attachments: AttachmentList, _ id: DocumentID) throws -> Set<Int> {
        var numbers: Set<Int> = []
        for attachment in attachments {
            guard let (number, length) = try blobRow(attachment.digest), length == attachment.length else {
                throw KithError(
                    .attachmentMissing,
                    "The bytes of an attachment of document \(id) are not stored: \(attachment.digest)",
                    remedy: "Send them before the document, or with it")
            }
            numbers.insert(number)
        }
        return numbers
    }

    /// Notes that a revision's body is no longer kept, so that it needs no blobs.
    func releaseBlobs(_ id: DocumentID, _ revision: RevisionID) throws {
        try storing { connection in
            for query in [StoreQuery.discountBlobUses, .deleteBlobUses] {
                try connection.with(query, in: number) { statement in
                    statement.bind(id, at: 1)
                    statement.bind(revision, at: 2)
                    try statement.run()
                }
            }
        }
        scheduleHousekeeping(at: 0)
    }

    /// Notes that a document is gone with all its revisions.
    func releaseAllBlobs(_ id: DocumentID) throws {
        try storing { connection in
            for query in [StoreQuery.discountAllBlobUses, .deleteAllBlobUses] {
                try connection.with(query, in: number) { statement in
                    statement.bind(id, at: 1)
                    try statement.run()
                }
            }
        }
        scheduleHousekeeping(at: 0)
    }

    // MARK: Removal

    /// Removes blobs that nothing refers to and whose lease has ended, a bounded part of them.
    ///
    /// - Returns: when there is more to remove, `now` if at once; nil when nothing is known of.
    func removeUnusedBlobs(now: Int64) throws -> Int64? {
        var room = StoreLimits.blobPiecesRemovedPerCommitMax
        while room > 0, let unused = try unusedBlob(now: now) { room -= try removePieces(of: unused, limit: room) }
        let next: Int64? = try connection.with(.nextUnusedBlob) { statement in
            try statement.step() && !statement.isNull(0) ? Int64(statement.int(0)) : nil
        }
        return next.map { max($0, now) }
    }

    private func unusedBlob(now: Int64) throws -> Int? {
        try connection.with(.unusedBlob) { statement in
            statement.bind(Int(now), at: 1)
            return try statement.step() ? statement.int(0) : nil
        }
    }

    /// Removes pieces of a blob, and the blob with the last of them.
    ///
    /// - Returns: how much of the limit is used up, at least 1.
    private func removePieces(of blob: Int, limit: Int) throws -> Int {
        try storing { connection in
            // In the same transaction as the first pieces go, so that nobody finds half of it by its digest.
            try connection.with(.hideBlob) { statement in
                statement.bind(blob, at: 1)
                try statement.run()
            }
            try connection.with(.deletePieces) { statement in
                statement.bind(BlobPlace.place(blob: blob, piece: 0), at: 1)
                statement.bind(BlobPlace.last(blob: blob), at: 2)
                statement.bind(limit, at: 3)
                try statement.run()
            }
            let removed = connection.changedRowCount
            if removed < limit {
                try connection.with(.deleteBlob) { statement in
                    statement.bind(blob, at: 1)
                    try statement.run()
                }
            }
            return max(removed, 1)
        }
    }
}
