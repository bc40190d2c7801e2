import KithStore

/// A revision that came from the peer and is not answered yet.
struct ReceivedRevision {
    /// What is to be stored.
    var revision: IncomingRevision
    /// The number of the message that has to be answered.
    let number: UInt64
    /// What of the tracker waits for it; `nil` for one that was not asked for.
    let tickets: AwaitedTickets?
    /// What it takes of the windows.
    var size: Int
    /// How often its blobs were looked up.
    var blobAttempts = 0

    var name: RevisionName { RevisionName(id: revision.id, revision: revision.revision) }
}
