import KithStore
import KithWire

/// A revision that came from the peer and is not answered yet.
struct ReceivedRevision {
    /// What is to be stored.
    var revision: IncomingRevision
    /// The message that has to be answered.
    var message: BLIPMessage
    /// What of the tracker waits for it.
    var tickets: [Int]
    /// What it takes of the windows.
    var size: Int
    /// How often its blobs were looked up.
    var blobAttempts = 0

    var name: RevisionName { RevisionName(id: revision.id, revision: revision.revision) }
}
