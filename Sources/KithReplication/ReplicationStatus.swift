import KithDocuments

/// How a link stands, counted and not guessed; `nil` where it is unknown.
public struct ReplicationStatus: Sendable, Equatable {
    /// What the link is doing.
    public enum State: String, Sendable {
        /// Checkpoints are being exchanged.
        case connecting
        /// Changes are on their way in a direction.
        case busy
        /// Each side has everything of the other that may travel to it.
        case idle
    }

    /// What the link is doing.
    public var state: State = .connecting
    /// Whether a session that is not continuous has done all that was asked of it.
    public var isComplete = false
    /// What may travel: what this node allows, as far as the peer has not said that it does not.
    public var directions = ReplicationDirections.both
    /// Documents changed here that the peer has not acknowledged; 0 where nothing is sent to it.
    public var toSend: Int?
    /// Documents changed at the peer that are not stored here; 0 where nothing is received from it.
    public var toReceive: Int?
    /// For each collection the sequence up to which every change is durable at the peer; without an entry before the link
    /// knows where the peer stands, and where only certain documents are sent.
    public var sentThrough: [CollectionName: UInt64] = [:]
    /// Revisions that the peer acknowledged on this link.
    public var revisionsSent = 0
    /// Revisions stored here from this link.
    public var revisionsReceived = 0
    /// Bytes of attachments given to the link to be sent.
    public var attachmentBytesSent: UInt64 = 0
    /// Bytes of attachments that came over this link, also those that were not kept.
    public var attachmentBytesReceived: UInt64 = 0
    /// What was done and what there was to do since both sides were last idle, in documents.
    public var completed = 0
    /// See `completed`.
    public var total = 0
    /// Documents that one side refused on this link.
    public var refusals = 0

    /// The status before anything happened.
    public init() {}
}
