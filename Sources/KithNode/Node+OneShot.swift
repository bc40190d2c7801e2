import KithDocuments
import KithReplication
import KithTransport

extension Node {
    /// Replicates once with a peer: what was there when it began is on both sides when this returns, as far as either lets it
    /// travel. It goes over a link of its own, beside the one that is kept with the peer.
    ///
    /// ```swift
    /// let done = try await node.replicateOnce(OneShotRequest(database: notes, peer: laptop, directions: .receive))
    /// print(done.revisionsReceived, done.refusals)
    /// ```
    ///
    /// Documents that were refused before are offered again, and those that still are count among the result's. A document that is
    /// edited faster than it travels comes with the next. Certain documents (`documentIDs`) are compared anew each time. When the task
    /// is cancelled it is given up, and what has travelled stays.
    ///
    /// - Parameters:
    ///   - request: what, with whom and in which directions.
    ///   - progress: told now and then how it stands, on the node's actor.
    /// - Returns: how it stood at the end: revisions sent and received, documents refused, directions that were on.
    /// - Throws: `.notFound` when it is no peer, `.databaseNotFound` here or there, `.forbidden` when either side lets nothing of it
    ///   travel, `.connectionLost` and `.timedOut` when the peer is not reached or is lost, `.busy` also when the peer cannot open it,
    ///   `.closed` when it was given up or what may travel was changed.
    @discardableResult
    public func replicateOnce(
        _ request: OneShotRequest, progress: (ReplicationStatus) -> Void = { _ in }
    ) async throws(KithError) -> ReplicationStatus {
        let replication = try links.replicateOnce(request)
        while true {
            if let result = replication.result { return try result.get() }
            if Task.isCancelled { replication.cancel() }
            if let status = replication.status { progress(status) }
            guard replication.result == nil else { continue }
            await replication.changed.wait(secondsMax: NodeLimits.statusIntervalSeconds)
        }
    }
}
