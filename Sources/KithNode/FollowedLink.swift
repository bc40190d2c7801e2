import KithDocuments
import KithReplication
import KithTransport

/// The link that a pair keeps, for somebody who waits until what is there now has travelled on it.
@LoopActor
struct FollowedLink {
    let link: PeerLink
    /// Where the collections of the database were when somebody began to wait; `nil` until that is known.
    private var lastSequences: [CollectionName: UInt64]?
    private let start: ReplicationStatus
    private var pongCount = 0

    /// Counts what is done from now on.
    init(_ link: PeerLink) {
        self.link = link
        start = link.status
    }

    /// Waits from now on, until the peer has given a sign of life and what is there has travelled.
    ///
    /// - Parameter lastSequences: where the collections of the database are, by the database itself.
    mutating func wait(for lastSequences: [CollectionName: UInt64]) {
        self.lastSequences = lastSequences
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
        guard let lastSequences, link.pongCount > pongCount, status.state != .connecting else { return false }
        // Not 0 for long where others write all the time, so what was there counts, too.
        let isSent =
            !directions.contains(.send) || status.toSend == 0
            || lastSequences.allSatisfy { $1 <= status.sentThrough[$0] ?? 0 }
        return isSent && (!directions.contains(.receive) || status.toReceive == 0)
    }
}
