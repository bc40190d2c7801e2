import KithDocuments
import KithReplication
import KithTransport

/// The link that a pair keeps, for somebody who waits until what is there now has travelled on it.
@LoopActor
struct FollowedLink {
    let link: PeerLink
    private let lastSequences: [CollectionName: UInt64]
    private let start: ReplicationStatus
    private let pongCount: Int

    /// Begins now.
    ///
    /// - Parameter lastSequences: where the collections of the database are.
    init(_ link: PeerLink, lastSequences: [CollectionName: UInt64]) {
        self.link = link
        self.lastSequences = lastSequences
        start = link.status
        pongCount = link.pongCount
    }

    /// How it stands, with what was done since.
    var status: ReplicationStatus {
        var status = link.status
        status.revisionsSent -= start.revisionsSent
        status.revisionsReceived -= start.revisionsReceived
        status.refusals -= start.refusals
        return status
    }

    /// Whether the peer has answered since, and what was there at the beginning has travelled in these directions.
    func isDone(_ directions: ReplicationDirections) -> Bool {
        let status = link.status
        guard link.pongCount > pongCount, status.state != .connecting else { return false }
        // Not 0 for long where others write all the time, so what was there counts, too.
        let isSent =
            !directions.contains(.send) || status.toSend == 0
            || lastSequences.allSatisfy { $1 <= status.sentThrough[$0] ?? 0 }
        return isSent && (!directions.contains(.receive) || status.toReceive == 0)
    }
}
