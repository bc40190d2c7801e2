// How a session stands over all its collections, and whose turn it is.
//
// Only what something has happened to is looked at, so that a frame costs the same however many collections are idle.

extension ReplicationSession {
    /// Whether each side has everything of the other that it asks for, as far as this side knows.
    var isIdle: Bool {
        recount()
        return !replicators.isEmpty && !awaitsCollections && totals.busy == 0
    }

    /// Whether it is known that both sides have all of each other that may travel between them.
    public var isPairInSync: Bool {
        guard isIdle, configuration.documentIDs == nil else { return false }
        guard let pairDirections = configuration.pairDirections else { return true }
        // What the active side asks for the passive one learns of it.
        return pairDirections == (configuration.role == .active ? configuration.directions : directions)
    }

    /// Whether there are collections that are not replicated yet: what is in them is not counted.
    private var awaitsCollections: Bool { isOpening || awaitsNames || !unopened.isEmpty || !announced.isEmpty }

    /// Notes that something has happened to a collection.
    func touch(_ replicator: CollectionReplicator) {
        isUnsettled = true
        guard !replicator.isTouched else { return }
        replicator.isTouched = true
        touched.append(replicator)
    }

    /// Does what follows from the inputs since the last call, and brings the status up to date. Each output begins with it,
    /// so that inputs that come together are followed up together.
    func settle() {
        guard isUnsettled else { return }
        isUnsettled = false
        if ended == nil { takeTurns() }
        recount()
        for replicator in touched {
            replicator.isTouched = false
            if replicator.checkpointer?.note() == true { unsaved.append(replicator) }
        }
        touched.removeAll(keepingCapacity: true)
        let (toSend, toReceive) = replicators.isEmpty || awaitsCollections ? (nil, nil) : totals.pending
        standing.toSend = directions.contains(.send) ? toSend : 0
        standing.toReceive = directions.contains(.receive) ? toReceive : 0
        let wasBusy = standing.state != .idle
        let isIdle = self.isIdle
        let isConnecting = configuration.role == .active && (replicators.isEmpty || totals.unloaded > 0)
        standing.state = isIdle ? .idle : isConnecting ? .connecting : .busy
        let open = (standing.toSend ?? 0) + (standing.toReceive ?? 0)
        if isIdle {
            if wasBusy { standing.completed = standing.total }
        } else {
            if !wasBusy { (standing.completed, standing.total) = (0, 0) }
            standing.total = max(standing.total, open)
            standing.completed = standing.total - open
        }
        if !configuration.isContinuous, configuration.role == .active, isIdle { finish() }
    }

    /// Everything that was there at the beginning has travelled: says so to the peer's checkpoint, and then goodbye.
    private func finish() {
        standing.isComplete = true
        for replicator in replicators { replicator.checkpointer?.saveNow() }
        guard replicators.allSatisfy({ $0.checkpointer?.isSaved != false }) else { return }
        end(closeCode: 1000, "everything that was asked for has travelled", code: .closed)
    }

    /// Lets the collections to which something has happened, and those that wait, do what the shared windows allow; of those
    /// that wait another one first each time.
    private func takeTurns() {
        if waiting.count > 1 { waiting.append(waiting.removeFirst()) }
        var turns = waiting
        for replicator in touched where !replicator.isWaiting { turns.append(replicator) }
        for replicator in waiting { touch(replicator) }
        waiting.removeAll(keepingCapacity: true)
        turnsTaken += turns.count
        for replicator in turns {
            replicator.work()
            replicator.isWaiting = replicator.hasWork
            if replicator.isWaiting { waiting.append(replicator) }
        }
        isUnsettled = false
    }

    /// Counts anew what has changed.
    private func recount() {
        for replicator in touched {
            let now = replicator.standing
            let before = replicator.counted
            guard now != before else { continue }
            replicator.counted = now
            totals.add(before, -1)
            totals.add(now, 1)
            if let sent = now.sentThrough, sent != before.sentThrough {
                standing.sentThrough[replicator.collection] = sent
            }
        }
    }

    // MARK: Checkpoints

    /// When the next checkpoint is to be saved, in monotonic seconds.
    var checkpointDeadlineSeconds: Double? {
        firstUnsaved().flatMap { $0.deadlineSeconds(isIdle: isIdle) }
    }

    /// Saves the checkpoints that are due.
    func saveCheckpoints() {
        let isIdle = self.isIdle
        while let checkpointer = firstUnsaved(), let deadline = checkpointer.deadlineSeconds(isIdle: isIdle),
            now.monotonicSeconds >= deadline
        {
            checkpointer.save()
        }
    }

    /// The checkpoint that has waited longest: the first in the list, since all wait for the same time.
    private func firstUnsaved() -> Checkpointer? {
        while unsavedHead < unsaved.count {
            if let checkpointer = unsaved[unsavedHead].checkpointer, checkpointer.isWaiting { return checkpointer }
            unsavedHead += 1
        }
        unsaved.removeAll(keepingCapacity: true)
        unsavedHead = 0
        return nil
    }
}
