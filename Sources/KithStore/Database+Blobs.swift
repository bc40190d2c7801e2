import KithDocuments

extension Database {
    /// Begins a blob that is streamed in.
    ///
    /// - Parameters:
    ///   - digest: what its bytes must have, when that is known.
    ///   - length: how many there must be, when that is known.
    public func makeBlob(digest: AttachmentDigest? = nil, length: UInt64? = nil) throws(KithError) -> BlobWriter {
        try BlobWriter(self, digest: digest, length: length)
    }

    /// Begins a blob that is streamed in, or goes on with the beginning of it that somebody left here: a transfer that was cut
    /// off, also one of a process that was killed. At most a day old ones are kept, and of those the newest.
    ///
    /// The bytes that are here are read and hashed again first. What is damaged, or cannot be read, is begun anew.
    ///
    /// - Parameters:
    ///   - digest: what all of the bytes must have.
    ///   - length: how many there must be.
    ///   - completion: is given a writer, whose `byteCount` says where to go on; called here or on a thread of the database.
    public func resumeBlob(
        digest: AttachmentDigest, length: UInt64,
        completion: @escaping @Sendable (Result<BlobWriter, any Error>) -> Void
    ) {
        let expected = Blob(digest: digest, length: length)
        let beginAnew: @Sendable () -> Void = { [self] in
            completion(Result { try makeBlob(digest: digest, length: length) })
        }
        let now = clock()
        let lease = blobLease(isExpected: true)
        submitRead { snapshot in
            try !snapshot.beginnings(of: expected, now: now).isEmpty
        } completion: { [self] result in
            guard case .success(true) = result else { return beginAnew() }
            let claimed = Monitor<Int?>(nil)
            submitWrite { [self] transaction -> BlobBeginning? in
                let found = try transaction.beginnings(of: expected, now: now)
                // In the transaction, so that of two links only one goes on with it.
                let free = blobClaims.update { claims in
                    let free = found.first { claims[$0.number] == nil || claims[$0.number] == .left }
                    if let free { claims[free.number] = .adding }
                    return free
                }
                guard let free else { return nil }
                claimed.update { $0 = free.number }
                try transaction.leaseBeginning(free.number, until: lease)
                return BlobBeginning(
                    number: free.number, expected: expected, stored: free.stored, leasedUntil: lease,
                    hasher: try RunningDigest())
            } completion: { [self] result in
                guard case .success(let beginning?) = result else {
                    if let number = claimed.update({ $0 }) { leaveBeginning(number) }
                    return beginAnew()
                }
                rehash(beginning, from: 0) { [self] result in
                    switch result {
                    case .success(true): return completion(.success(BlobWriter(self, beginning)))
                    case .success(false):
                        blobClaims.update { $0[beginning.number] = nil }
                        submitWrite(
                            { try $0.abandonBlob(beginning.number, after: beginning.stored) },
                            completion: { _ in beginAnew() })
                    case .failure:
                        leaveBeginning(beginning.number)
                        beginAnew()
                    }
                }
            }
        }
    }

    /// Hashes the bytes that are there, a bounded part in each read.
    ///
    /// - Parameter done: is told whether all of them are there and right.
    private func rehash(
        _ beginning: BlobBeginning, from offset: Int, _ done: @escaping @Sendable (Result<Bool, any Error>) -> Void
    ) {
        guard offset < beginning.stored else { return done(.success(true)) }
        let end = min(offset + StoreLimits.blobResumeStepBytes, beginning.stored)
        submitRead { snapshot in
            try snapshot.readPieces(ofBlob: beginning.number, from: offset, to: end) { try beginning.hasher.add($0) }
        } completion: { [self] result in
            guard case .success(true) = result else { return done(result) }
            rehash(beginning, from: end, done)
        }
    }

    /// Reads a piece of a blob, in a snapshot of its own: for whoever sends a blob slowly, without keeping the log from
    /// being emptied meanwhile.
    ///
    /// - Parameters:
    ///   - digest: of the blob.
    ///   - offset: of the first byte.
    ///   - count: how many bytes at most; as few as 256 KiB are read at the cost of one.
    /// - Returns: the bytes; empty at the end.
    /// - Throws: `.notFound` when there is no such blob, or no longer; `.damaged`.
    public func blobPiece(_ digest: AttachmentDigest, at offset: UInt64, count: Int) throws -> [UInt8] {
        try read { snapshot in
            var piece: [UInt8] = []
            let end = offset.addingReportingOverflow(UInt64(max(count, 0)))
            try snapshot.readBlob(digest, range: offset..<(end.overflow ? .max : end.partialValue)) { bytes in
                piece.append(contentsOf: bytes)
                return true
            }
            return piece
        }
    }

    /// Notes that the writer of a beginning has let go of it, which waits for the next one from now on.
    ///
    /// - Parameter isFull: whether that was for want of space: then it is the only one that stays.
    func leaveBeginning(_ number: Int, isFull: Bool = false) {
        blobClaims.update { $0[number] = .left }
        submitWrite(
            { [self] in try tidyBeginnings($0, dropsAll: isFull, besides: isFull ? number : nil) }, completion: { _ in }
        )
    }

    /// Gives up the oldest beginnings that wait for somebody to go on, where they are too many or too long.
    ///
    /// - Parameters:
    ///   - dropsAll: whether all of them go …
    ///   - kept: … but for this one.
    func tidyBeginnings(_ transaction: WriteTransaction, dropsAll: Bool = false, besides kept: Int? = nil) throws {
        let claims = blobClaims.update { $0 }
        let quiet = blobLease(isExpected: true) - StoreLimits.blobBeginningQuietMilliseconds
        var (numbers, count, bytes): (Set<Int>, Int, Int) = ([], 0, 0)
        for (number, stored, leasedUntil) in try transaction.allBeginnings() {
            numbers.insert(number)
            let claim = claims[number]
            if claim == .adding || (claim == nil && leasedUntil > quiet) || number == kept { continue }
            let fits = count < StoreLimits.blobBeginningsMax && bytes + stored <= StoreLimits.blobBeginningsBytesMax
            if !dropsAll, count == 0 || fits {
                if count > 0 { bytes += stored }
                count += 1
            } else {
                try transaction.abandonBlob(number, after: stored)
            }
        }
        // A number is given again when its blob is gone.
        blobClaims.update { [numbers] claims in
            claims = claims.filter { $0.value != .left || numbers.contains($0.key) }
        }
    }

    /// Until when a blob stays that nothing refers to; with `isExpected` the beginning of one that can be taken up again.
    func blobLease(isExpected: Bool) -> Int64 {
        clock() + (isExpected ? StoreLimits.blobBeginningLeaseMilliseconds : StoreLimits.blobLeaseMilliseconds)
    }

    /// Stores a blob as one that is streamed in is stored, on the calling thread: for tests that play everything on one.
    package func streamBlobHere(_ bytes: [UInt8]) throws -> Blob {
        let size = StoreLimits.blobPieceBytes
        let lease = blobLease(isExpected: false)
        var number: Int?
        var stored = 0
        while bytes.count - stored > size {
            let (before, piece, position) = (number, bytes[stored..<stored + size], stored)
            let outcome = Monitor<Result<Int, any Error>?>(nil)
            submitUnflushedWrite {
                try $0.extendBlob(before, by: [piece], after: position, leasedUntil: lease)
            } completion: { result in
                outcome.update { $0 = result }
            }
            number = try outcome.wait { $0 }.get()
            stored += size
        }
        let digest = try AttachmentDigest(bytes: MessageDigest(.sha1).hash(bytes))
        let (before, rest, position) = (number, bytes[stored...], stored)
        try writeBlocking {
            try $0.finishBlob(before, lastPieces: [rest], after: position, digest: digest, leasedUntil: lease)
        }
        return Blob(digest: digest, length: UInt64(bytes.count))
    }
}
