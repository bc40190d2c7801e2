import KithDocuments
import KithStore
import KithWire

/// Sends this node's changes to the peer: announces them in order, sends the revisions that the peer asks for, and knows
/// up to which sequence everything is durable there.
///
/// The same machine serves a peer's `subChanges` and pushes for an active replicator.
final class Pusher {
    unowned let replicator: CollectionReplicator
    var session: ReplicationSession { replicator.session }
    let limits: ReplicationLimits
    let windows: SharedWindows
    /// Sequences up to here were read from the store.
    var cursor: UInt64
    /// The last sequence of the database, as last heard; of what is asked for once, where it ends.
    var lastSequence: UInt64
    /// Whether documents that were there at the beginning of what is asked for once may have moved behind its end before they were
    /// looked at: then it goes on to where the database is now, one time.
    private var mayHaveMoved = false
    var hasMovedEnd = false
    /// Documents of what is asked for once that were edited after they had been announced; they are announced once more.
    var gone: [DocumentID] = []
    /// How often that is done: whoever edits a document faster than it travels does not keep the link for ever.
    var roundsLeft = 3
    var tracker: SequenceTracker<UInt64>
    var isReadingChanges = false
    var queue: [OutgoingRevision] = []
    var queueHead = 0
    /// Changed documents after the cursor, counted by the store and kept up between counts.
    var remaining: Int?
    var countedAtSeconds = -Double.infinity
    var saidCaughtUp = false
    /// Whether the peer takes nothing.
    var isStopped = false
    /// Revisions that came from this peer.
    private var echoes = EchoList()
    /// The sequence of the last of them.
    private var lastEcho: UInt64 = 0
    /// Whether changes that are no echoes lie behind the end of what is asked for once.
    var hasOthersBehind = false
    /// Everything up to here has been announced as it was when nothing lay behind it.
    var caughtUpThrough: UInt64 = 0
    /// Certain documents that are asked for once, of which it was not looked yet how they are: however large the database is, nothing
    /// else is read.
    var named: [DocumentID] = []
    let subscription: Subscription
    /// To a client: documents that were announced and are not done.
    var underWay: Set<DocumentID> = []
    /// The one of them that has changed since, and is the next to be announced. A client that gets the older revision after it
    /// has heard of the newer one would take it for the current one; and behind it nothing is announced, since the client's
    /// checkpoint goes by the order in which it hears of changes.
    var blocking: DocumentID?

    var batchMax: Int { subscription.batchMax }

    init(replicator: CollectionReplicator, _ subscription: Subscription, lastSequence: UInt64) {
        let since = subscription.since
        self.replicator = replicator
        self.limits = replicator.configuration.limits
        self.windows = replicator.windows
        self.subscription = subscription
        self.cursor = since
        self.lastSequence = max(lastSequence, since)
        self.tracker = SequenceTracker(completed: since)
        caughtUpThrough = since
        if let ids = subscription.documentIDs, !subscription.isContinuous, since == 0,
            replicator.configuration.peerIsKith
        {
            named = ids.sorted()
            cursor = self.lastSequence
            remaining = 0
        }
        // Nothing behind the position: known without a count.
        if since >= lastSequence { remaining = 0 }
    }

    /// Everything up to this sequence is durable at the peer.
    var sentThrough: UInt64 { tracker.count == 0 ? cursor : tracker.completed ?? 0 }

    /// Whether only certain documents are sent: then nothing follows for the others from what is done.
    var isFiltered: Bool { subscription.documentIDs != nil }

    /// Documents that the peer has not acknowledged; `nil` before the first count, and when there are new changes that no
    /// count has seen.
    var pending: Int? {
        guard let remaining, remaining > 0 || cursor >= lastSequence else { return nil }
        return remaining + tracker.count + named.count
    }

    /// Whether the peer has everything.
    var isIdle: Bool { isDone && !wantsPass && !wantsRound && !canStepOver && (replicator.toRetry.isEmpty || isOver) }

    /// Whether everything up to the end was read and acknowledged.
    var isDone: Bool { !isReadingChanges && cursor >= lastSequence && named.isEmpty && tracker.count == 0 }

    /// Whether the peer was told that nothing comes any more.
    private var isOver: Bool { !subscription.isContinuous && saidCaughtUp }

    /// Whether this looks for documents that have slipped away. Clients are told of what took the place of a revision as they ask.
    var looksAgain: Bool {
        !subscription.isContinuous && !saidCaughtUp && replicator.configuration.peerIsKith
    }

    var wantsPass: Bool { mayHaveMoved && !hasMovedEnd && looksAgain }
    var wantsRound: Bool { !gone.isEmpty && roundsLeft > 0 && looksAgain }

    /// Whether what came from the peer lies behind the end of what is asked for once.
    var canStepOver: Bool { isOver && !isFiltered && !hasOthersBehind && lastEcho > cursor }

    var queued: Int { queue.count - queueHead }

    // MARK: Inputs

    func databaseChanged(lastSequence: UInt64) {
        guard lastSequence > self.lastSequence else { return }
        guard subscription.isContinuous else {
            // What is asked for once ends where it was when it was asked for, however busy the database is. But documents that were
            // not read yet may have moved behind that.
            if cursor < self.lastSequence { mayHaveMoved = true }
            return
        }
        self.lastSequence = lastSequence
    }

    /// Announces and sends nothing more: the peer does not take it. What it did not acknowledge stays open, so that no checkpoint
    /// passes it over.
    func stop() { isStopped = true }

    /// Notes a revision that just came from this peer, so that its own change is not announced back. A later change of
    /// the document is announced with all leaves, since it can be that another one is none any more; and so is one whose
    /// state before had not been announced yet, which nobody would be told of otherwise. And so is one of a document with
    /// several leaves: the peer may have learnt while the revision was on its way that another leaf supersedes it, and says
    /// so only when it is asked.
    func noteEcho(_ revision: RevisionID, _ sequence: UInt64, after previous: UInt64) {
        guard windows.echoes < limits.echoesMax, sequence > cursor else { return }
        lastEcho = sequence
        windows.echoes += echoes.append(EchoList.Echo(revision: revision, sequence: sequence, previous: previous))
    }

    /// What came from the peer under a sequence, or the first behind it.
    private func echo(from sequence: UInt64) -> EchoList.Echo? {
        windows.echoes -= echoes.forget(before: sequence)
        return echoes.first
    }

    /// Whether the peer knows all that there is to say of a change, since it made it.
    func isEcho(_ change: Change) -> Bool {
        guard let echo = echo(from: change.sequence), echo.sequence == change.sequence else { return false }
        return echo.revision == change.winner.revision && echo.previous <= caughtUpThrough && change.leaves.count == 1
    }

    /// Passes over new documents that came from the peer, without reading them from the store: nothing but what the peer has
    /// sent can lie under their sequences.
    private func passEchoes() {
        guard subscription.isContinuous, !isReadingChanges else { return }
        while let echo = echo(from: cursor + 1), echo.sequence == cursor + 1, echo.previous == 0 {
            if caughtUpThrough == cursor { caughtUpThrough = echo.sequence }
            cursor = echo.sequence
        }
        lastSequence = max(lastSequence, cursor)
        if cursor == lastSequence { remaining = 0 }
    }

    /// Whether there is something to announce or to send.
    var hasWork: Bool {
        guard !isStopped else { return false }
        return cursor < lastSequence || queued > 0 || !named.isEmpty || !replicator.toRetry.isEmpty || wantsPass
            || wantsRound || canStepOver
    }

    /// Does whatever the windows allow.
    func work() {
        guard !isStopped else { return }
        passEchoes()
        readRevisions()
        readChanges()
        offerNamed()
        if isIdle, !saidCaughtUp {
            saidCaughtUp = true
            replicator.send(
                BLIPOutgoing(
                    properties: ["Profile": "changes"], body: Array("[]".utf8), isUrgent: true, isNoReply: true,
                    isCompressed: false))
        }
        stepOverEchoes()
    }
}
