// How a session stands, over all its collections.

extension ReplicationSession {
    /// Whether each side has everything of the other that it asks for, as far as this side knows.
    var isIdle: Bool {
        !replicators.isEmpty && !awaitsCollections && replicators.allSatisfy(\.isIdle)
    }

    /// Whether there are collections that are not replicated yet: what is in them is not counted.
    private var awaitsCollections: Bool { isOpening || awaitsNames || !unopened.isEmpty || !announced.isEmpty }

    /// Lets each collection do what the shared windows allow, another one first each time.
    private func takeTurns() {
        firstTurn = (firstTurn + 1) % replicators.count
        for replicator in replicators[firstTurn...] { replicator.work() }
        for replicator in replicators[..<firstTurn] { replicator.work() }
    }

    /// Brings the status up to date; called after each input.
    func updateStatus() {
        if replicators.count > 1, ended == nil { takeTurns() }
        if blip.queuedBytes > configuration.limits.outgoingBytesMax {
            end(closeCode: 1008, "the peer sends and does not read")
        }
        var (toSend, toReceive): (Int?, Int?) = replicators.isEmpty ? (nil, nil) : (0, 0)
        for replicator in replicators {
            if let pusher = replicator.pusher, !pusher.isFiltered {
                status.sentThrough[replicator.collection] = pusher.sentThrough
            }
            toSend = Self.sum(toSend, replicator.pusher?.pending)
            toReceive = Self.sum(toReceive, replicator.puller?.pending)
        }
        if awaitsCollections { (toSend, toReceive) = (nil, nil) }
        status.toSend = status.directions.contains(.send) ? toSend : 0
        status.toReceive = status.directions.contains(.receive) ? toReceive : 0
        let wasBusy = status.state != .idle
        let isIdle = self.isIdle
        let isConnecting =
            configuration.role == .active
            && (replicators.isEmpty || replicators.contains { $0.checkpointer?.isLoaded == false })
        status.state = isIdle ? .idle : isConnecting ? .connecting : .busy
        let open = (status.toSend ?? 0) + (status.toReceive ?? 0)
        if isIdle {
            if wasBusy { status.completed = status.total }
        } else {
            if !wasBusy { (status.completed, status.total) = (0, 0) }
            status.total = max(status.total, open)
            status.completed = status.total - open
        }
        for replicator in replicators { replicator.checkpointer?.note(isIdle: isIdle) }
        if !configuration.isContinuous, configuration.role == .active, isIdle { finish() }
    }

    /// Everything that was there at the beginning has travelled: says so to the peer's checkpoint, and then goodbye.
    private func finish() {
        status.isComplete = true
        for replicator in replicators { replicator.checkpointer?.saveNow() }
        guard replicators.allSatisfy({ $0.checkpointer?.isSaved != false }) else { return }
        end(closeCode: 1000, "everything that was asked for has travelled", code: .closed)
    }

    /// The sum of what is known, and unknown as soon as a part is.
    private static func sum(_ a: Int?, _ b: Int?) -> Int? {
        guard let a, let b else { return nil }
        return a + b
    }
}
