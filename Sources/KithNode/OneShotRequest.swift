import KithDocuments
import KithReplication
import KithTrust

/// What is to be replicated once.
public struct OneShotRequest: Sendable {
    /// The database.
    public var database: DatabaseName
    /// With whom.
    public var peer: NodeID
    /// To the peer, from it, or both.
    public var directions: ReplicationDirections
    /// The only documents that are replicated, at most `ReplicationLimits.subscribedDocumentsMax`; nil: all.
    public var documentIDs: Set<DocumentID>?

    /// Makes a request.
    public init(
        database: DatabaseName, peer: NodeID, directions: ReplicationDirections = .both,
        documentIDs: Set<DocumentID>? = nil
    ) {
        self.database = database
        self.peer = peer
        self.directions = directions
        self.documentIDs = documentIDs
    }
}
