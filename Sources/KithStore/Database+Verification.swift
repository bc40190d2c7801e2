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
}

extension Database {
    /// How many blobs and pieces of blobs there are, staged ones included: for tests.
    package func blobTableCounts() throws -> [Int] {
        try connection.use { connection in
            try ["blob", "blob_piece"].map { try connection.number("SELECT count(*) FROM \($0)") }
        }
    }

    /// Changes the bytes of a piece of the first blob behind the store's back, as a bad disk does: for tests.
    package func changeBlobPiece(_ piece: Int, _ change: (inout [UInt8]) -> Void) throws {
        try connection.use { connection in
            let place = BlobPlace.place(blob: 1, piece: piece)
            let hex = try connection.texts("SELECT hex(bytes) FROM blob_piece WHERE place = \(place)")[0]
            var bytes = stride(from: 0, to: hex.utf8.count, by: 2).map { start in
                let digits = Array(hex.utf8)[start..<start + 2]
                return UInt8(String(decoding: digits, as: UTF8.self), radix: 16) ?? 0
            }
            change(&bytes)
            try connection.execute("UPDATE blob_piece SET bytes = x'\(Hexadecimal.text(bytes))' WHERE place = \(place)")
        }
    }
}

extension Database {
    /// Gives the pieces of all blobs the checksums that they had before format 5: for tests.
    package func makeOldPieceChecksums() throws {
        try connection.use { connection in
            for place in try connection.texts("SELECT place FROM blob_piece") {
                let hasher = try MessageDigest(.sha256)
                try connection.query("SELECT bytes FROM blob_piece WHERE place = \(place)") { row in
                    guard try row.step() else { return }
                    try hasher.begin()
                    try hasher.add(row.unownedBytes(0))
                }
                let checksum = try hasher.end().prefix(8).reduce(0) { $0 << 8 | Int($1) }
                try connection.execute("UPDATE blob_piece SET checksum = \(checksum) WHERE place = \(place)")
            }
        }
    }

    /// Leaves a piece of a blob that is to become what is expected, as a dead process does: for tests.
    package func leaveBeginningHere(_ bytes: [UInt8], of expected: Blob) throws {
        let lease = blobLease(isExpected: true)
        let outcome = Monitor<Result<Int, any Error>?>(nil)
        submitUnflushedWrite {
            try $0.extendBlob(nil, by: [bytes[...]], after: 0, leasedUntil: lease, expected: expected)
        } completion: { result in
            outcome.update { $0 = result }
        }
        leaveBeginning(try outcome.wait { $0 }.get())
    }
}

extension WriteTransaction {
    /// One step of the removal of unused blobs: for tests.
    package func removeUnusedBlobsHere(now: Int64) throws -> Int64? { try removeUnusedBlobs(now: now) }
}
