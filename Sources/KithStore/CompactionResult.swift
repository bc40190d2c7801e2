/// What a compaction has done.
public struct CompactionResult: Sendable, Equatable {
    /// Bytes that the database took on the disk before, its log included; 0 in memory.
    public internal(set) var bytesBefore: UInt64 = 0
    /// Bytes that it takes now.
    public internal(set) var bytesAfter: UInt64 = 0
    /// Bodies of superseded revisions that were dropped.
    public internal(set) var oldBodies = 0
    /// Attachments that were dropped since no revision has them.
    public internal(set) var blobs = 0
}
