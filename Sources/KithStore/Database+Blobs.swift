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
}
