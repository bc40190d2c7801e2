/// How far a check, a compaction, a backup or a restore has come.
public struct MaintenanceProgress: Sendable, Equatable {
    /// What is being done.
    public enum Phase: String, Sendable {
        /// SQLite's own check of the file, which does not tell how far it is.
        case file
        /// Documents are checked.
        case documents
        /// Attachments are checked.
        case blobs
        /// Bodies of superseded revisions are dropped.
        case oldBodies
        /// Attachments that no document has any more are dropped.
        case unusedBlobs
        /// Free pages are given back to the file system.
        case freePages
        /// The file is written to another place.
        case copying
    }

    /// What is being done.
    public let phase: Phase
    /// How much of it is done: documents, attachments, pages or bytes.
    public let completed: Int
    /// How much there is, as far as it is known; 0 when it is not.
    public let total: Int
}
