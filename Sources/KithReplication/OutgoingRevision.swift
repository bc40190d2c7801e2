import KithDocuments

/// A revision that the peer asked for.
public struct OutgoingRevision: Sendable {
    /// The document and its revision.
    public let name: RevisionName
    /// The sequence under which it was announced.
    public let sequence: UInt64
    /// What of the pusher's tracker waits for it.
    let ticket: Int
    /// What the peer has of the document.
    public let ancestors: [RevisionID]
    /// The length of the history that the peer wants.
    let historyMax: Int
    /// Whether the peer takes the current revision in place of one that is gone.
    public let replacesGone: Bool
}
