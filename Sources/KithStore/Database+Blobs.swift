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

    /// Until when a blob stays that nothing refers to.
    func blobLease() -> Int64 { clock() + StoreLimits.blobLeaseMilliseconds }

    /// Stores a blob as one that is streamed in is stored, on the calling thread: for tests that play everything on one.
    package func streamBlobHere(_ bytes: [UInt8]) throws -> Blob {
        let size = StoreLimits.blobPieceBytes
        let lease = blobLease()
        var number: Int?
        var stored = 0
        while bytes.count - stored > size {
            let (before, piece, position) = (number, bytes[stored..<stored + size], stored)
            number = try writeBlocking {
                try $0.extendBlob(before, by: [piece], after: position, leasedUntil: lease)
            }
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
