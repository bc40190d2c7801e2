import KithDocuments

/// A revision that was sent and is not answered.
struct SentRevision {
    let name: RevisionName
    /// What of the pusher's tracker waits for it.
    let ticket: Int
    /// What it takes of the windows.
    let bytes: Int
    /// The attachments that the peer may ask for until it has answered.
    let digests: [AttachmentDigest]
}
