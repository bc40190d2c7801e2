import KithDocuments
import KithReplication

extension Node {
    /// How the node stands, now and whenever it has changed: of each peer and database the state of the link, what is to be sent and to
    /// be received, how much of the round is done, the last error with its time, and when both sides last had the same.
    ///
    /// ```swift
    /// for await status in node.statusReports {
    ///     for peer in status.peers { print(peer.name, peer.state, peer.toSend ?? "unknown") }
    /// }
    /// ```
    ///
    /// At most ten reports in a second; the node never waits for a reader.
    public nonisolated var statusReports: StatusReports { StatusReports(node: self) }

    /// What happens to single documents from now on: each revision that a peer has stored or that was stored from one, and each that one
    /// side has refused, with why.
    ///
    /// ```swift
    /// for await step in node.documentEvents() {
    ///     switch step {
    ///     case .event(let event): print(event.id, event.outcome, event.isOutgoing ? "to" : "from", event.peer.short)
    ///     case .lost(let count): print(count, "events were not read in time")
    ///     }
    /// }
    /// ```
    ///
    /// The node never waits for a reader: it keeps `NodeLimits.documentEventsMax` events for each, then drops the oldest and says how
    /// many.
    public func documentEvents() -> DocumentEvents {
        let buffer = EventBuffer<DocumentEvent>(countMax: NodeLimits.documentEventsMax)
        if isStopping { buffer.close() } else { links.observe(buffer) }
        return DocumentEvents(buffer: buffer)
    }
}
