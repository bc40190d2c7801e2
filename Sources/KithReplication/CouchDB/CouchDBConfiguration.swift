import KithDocuments

/// What one session of the CouchDB replicator replicates, and how.
public struct CouchDBConfiguration: Sendable {
    /// To the server (`send`), from it (`receive`), or both.
    public var directions: ReplicationDirections
    /// Whether it goes on with what comes, or ends when what is there has travelled.
    public var isContinuous: Bool
    /// Whether the database of the server is made where it is not there.
    public var createsTarget = false
    /// The only documents that are replicated; `nil`: all.
    public var documentIDs: Set<DocumentID>?
    /// What documents that come from the server must be like, as `_find` has it; `nil`: all.
    public var selector: JSONValue?
    /// The name of the checkpoint of what is sent, without `_local/`.
    public var sendCheckpoint: String
    /// The name of the checkpoint of what is received, without `_local/`.
    public var receiveCheckpoint: String
    /// Names this session in checkpoints; no two sessions have the same.
    public var sessionID: String
    /// Stands between the parts of what is sent. Whoever writes attachments must not be able to guess it.
    public var boundary: String
    /// The server's database as people and records of refusals name it: its URL without credentials.
    public var peerName: String
    /// What was refused before and is asked for, or offered, once more.
    public var refusedBefore: [RefusedRevision] = []
    /// How often requests about a revision have failed in the sessions before, in a way that may be its fault.
    public var failuresBefore: [RefusedRevision: Int] = [:]
    /// The limits.
    public var limits = CouchDBLimits()

    /// A revision that was refused in an earlier session.
    public struct RefusedRevision: Sendable, Hashable {
        /// Which.
        public var name: RevisionName
        /// Whether it was to go to the server.
        public var isOutgoing: Bool

        /// A revision that was refused.
        public init(name: RevisionName, isOutgoing: Bool) {
            self.name = name
            self.isOutgoing = isOutgoing
        }
    }

    /// A session.
    public init(
        directions: ReplicationDirections, isContinuous: Bool, sendCheckpoint: String, receiveCheckpoint: String,
        sessionID: String, boundary: String, peerName: String
    ) {
        self.directions = directions
        self.isContinuous = isContinuous
        self.sendCheckpoint = sendCheckpoint
        self.receiveCheckpoint = receiveCheckpoint
        self.sessionID = sessionID
        self.boundary = boundary
        self.peerName = peerName
    }
}
