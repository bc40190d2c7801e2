import KithTransport

/// How a node stands, each time that something of it has changed; see `Node.statusReports`.
///
/// A slow reader misses what lay between: each element is how the node stands when it is asked for. It ends when the node has stopped,
/// and when its task is cancelled.
public struct StatusReports: AsyncSequence, Sendable {
    let node: Node

    /// Reads the reports.
    public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
        let node: Node
        private var version: UInt64?

        init(node: Node) { self.node = node }

        /// The next report.
        public mutating func next() async -> NodeStatus? {
            if let version {
                // What changes many times a second is told a few times.
                try? await Task.sleep(for: .seconds(NodeLimits.statusIntervalSeconds))
                let node = self.node
                await withTaskCancellationHandler {
                    await node.waitForStatus(after: version)
                } onCancel: {
                    // Whoever waits is woken, and looks.
                    Task { await node.statusChanged() }
                }
            }
            guard !Task.isCancelled, await !node.isStopping else { return nil }
            version = await node.statusVersion
            return await node.status()
        }
    }

    /// Begins to read.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(node: node) }
}
