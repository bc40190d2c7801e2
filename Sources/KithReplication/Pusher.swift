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
    private let windows: SharedWindows
    /// Sequences up to here were read from the store.
    private var cursor: UInt64
    /// The last sequence of the database, as last heard; of what is asked for once, where it ends.
    private var lastSequence: UInt64
    /// Whether documents that were there at the beginning of what is asked for once may have moved behind its end before they were
    /// looked at: then it goes on to where the database is now, one time.
    private var mayHaveMoved = false
    private var hasMovedEnd = false
    /// Documents of what is asked for once that were edited after they had been announced; they are announced once more.
    private var gone: [DocumentID] = []
    /// How often that is done: whoever edits a document faster than it travels does not keep the link for ever.
    private var roundsLeft = 3
    private var tracker: SequenceTracker<UInt64>
    private var isReadingChanges = false
    private var queue: [OutgoingRevision] = []
    private var queueHead = 0
    /// Changed documents after the cursor, counted by the store and kept up between counts.
    private var remaining: Int?
    private var countedAtSeconds = -Double.infinity
    private var saidCaughtUp = false
    /// Whether the peer takes nothing.
    private var isStopped = false
    /// Revisions that came from this peer.
    private var echoes = EchoList()
    /// The sequence of the last of them.
    private var lastEcho: UInt64 = 0
    /// Whether changes that are no echoes lie behind the end of what is asked for once.
    private var hasOthersBehind = false
    /// Everything up to here has been announced as it was when nothing lay behind it.
    private var caughtUpThrough: UInt64 = 0
    /// Certain documents that are asked for once, of which it was not looked yet how they are: however large the database is, nothing
    /// else is read.
    private var named: [DocumentID] = []
    private let subscription: Subscription
    /// To a client: documents that were announced and are not done.
    private var underWay: Set<DocumentID> = []
    /// The one of them that has changed since, and is the next to be announced. A client that gets the older revision after it
    /// has heard of the newer one would take it for the current one; and behind it nothing is announced, since the client's
    /// checkpoint goes by the order in which it hears of changes.
    private var blocking: DocumentID?

    private var batchMax: Int { subscription.batchMax }

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
    private var isDone: Bool { !isReadingChanges && cursor >= lastSequence && named.isEmpty && tracker.count == 0 }

    /// Whether the peer was told that nothing comes any more.
    private var isOver: Bool { !subscription.isContinuous && saidCaughtUp }

    /// Whether this looks for documents that have slipped away. Clients are told of what took the place of a revision as they ask.
    private var looksAgain: Bool {
        !subscription.isContinuous && !saidCaughtUp && replicator.configuration.peerIsKith
    }

    private var wantsPass: Bool { mayHaveMoved && !hasMovedEnd && looksAgain }
    private var wantsRound: Bool { !gone.isEmpty && roundsLeft > 0 && looksAgain }

    /// Whether what came from the peer lies behind the end of what is asked for once.
    private var canStepOver: Bool { isOver && !isFiltered && !hasOthersBehind && lastEcho > cursor }

    private var queued: Int { queue.count - queueHead }

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
    private func isEcho(_ change: Change) -> Bool {
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

    // MARK: Announcing

    private var recountIntervalSeconds: Double {
        max(limits.recountIntervalSeconds, Double(remaining ?? 0) / limits.recountedDocumentsPerSecond)
    }

    private func readChanges() {
        let isPass = isDone && wantsPass
        guard !isReadingChanges, blocking == nil, cursor < lastSequence || isPass,
            windows.unansweredLists < limits.unansweredListsMax, queued < limits.queuedRevisionsMax
        else { return }
        if isPass { hasMovedEnd = true }
        isReadingChanges = true
        windows.unansweredLists += 1
        // How many of certain documents remain is only known at the end.
        let counts =
            subscription.documentIDs == nil
            && replicator.now.monotonicSeconds >= countedAtSeconds + recountIntervalSeconds
        replicator.perform(.readChanges(since: cursor, limit: batchMax, counts: counts)) { [unowned self] result in
            isReadingChanges = false
            windows.unansweredLists -= 1
            guard let (found, withheld, counted, last) = result.sendableChanges else {
                return session.storeFailed(result)
            }
            guard !isStopped else { return }
            if subscription.isContinuous || isPass { lastSequence = max(lastSequence, last) }
            let changes = underWay.isEmpty ? found : Array(found.prefix { !underWay.contains($0.id) })
            if changes.count < found.count { blocking = found[changes.count].id }
            if let counted {
                remaining = counted + found.count - changes.count
                countedAtSeconds = replicator.now.monotonicSeconds
            } else if let old = remaining {
                remaining = max(0, old - changes.count)
            }
            // The store may skip sequences; behind the last change there is nothing up to the end that it named.
            let isCaughtUp = found.count < batchMax && blocking == nil
            cursor = isCaughtUp ? max(cursor, last) : changes.last?.sequence ?? cursor
            if cursor >= lastSequence { remaining = 0 }
            announce(changes, withholding: withheld)
            if isCaughtUp { caughtUpThrough = max(caughtUpThrough, last) }
        }
    }

    /// Offers the certain documents that are asked for once; or once more what the peer refused on an earlier link, when it has been
    /// offered everything else. The changes are announced under the last sequence, so that no checkpoint goes back to theirs.
    private func offerNamed() {
        if isDone, wantsRound {
            (named, gone) = (Set(gone).sorted(), [])
            roundsLeft -= 1
        }
        guard !isReadingChanges, !named.isEmpty || !replicator.toRetry.isEmpty, cursor >= lastSequence,
            subscription.isContinuous || !saidCaughtUp,
            windows.unansweredLists < limits.unansweredListsMax
        else { return }
        isReadingChanges = true
        windows.unansweredLists += 1
        let isChoice = !named.isEmpty
        let ids = Array((isChoice ? named : replicator.toRetry).prefix(batchMax))
        if isChoice { named.removeFirst(ids.count) } else { replicator.toRetry.removeFirst(ids.count) }
        replicator.perform(.readDocuments(ids)) { [unowned self] result in
            isReadingChanges = false
            windows.unansweredLists -= 1
            guard let (changes, withheld, _, _) = result.sendableChanges else { return session.storeFailed(result) }
            guard !isStopped else { return }
            // Those behind the position are announced in their turn.
            announce(
                changes.filter { isChoice || $0.sequence <= subscription.since }.map {
                    Change(sequence: cursor, id: $0.id, leaves: $0.leaves)
                }, withholding: withheld)
        }
    }

    /// What came from the peer meanwhile is at the peer: what is asked for once goes on behind it when it is done, so that nobody
    /// takes it for changes that the peer lacks. Nothing is sent any more.
    private func stepOverEchoes() {
        guard isDone, canStepOver, windows.unansweredLists < limits.unansweredListsMax else { return }
        isReadingChanges = true
        windows.unansweredLists += 1
        replicator.perform(.readChanges(since: cursor, limit: batchMax, counts: false)) { [unowned self] result in
            isReadingChanges = false
            windows.unansweredLists -= 1
            guard let (changes, _, _, last) = result.sendableChanges else { return session.storeFailed(result) }
            let passed = changes.prefix { isEcho($0) }
            hasOthersBehind = passed.count < changes.count
            cursor = hasOthersBehind || changes.count == batchMax ? passed.last?.sequence ?? cursor : max(cursor, last)
            lastSequence = max(lastSequence, cursor)
            caughtUpThrough = max(caughtUpThrough, cursor)
        }
    }

    private func announce(_ changes: [Change], withholding withheld: Set<RevisionName>) {
        var body: [UInt8] = []
        var announced: [(name: RevisionName, sequence: UInt64, ticket: Int)] = []
        announced.reserveCapacity(changes.count)
        for change in changes {
            let leaves = isEcho(change) ? [] : leaves(toAnnounceOf: change, withholding: withheld)
            let ticket = tracker.add(change.sequence, open: leaves.count)
            for leaf in leaves {
                ChangesList.append(
                    sequence: change.sequence, tag: replicator.configuration.filterTag, change.id, leaf.revision,
                    isDeleted: leaf.isDeleted, to: &body)
                announced.append((RevisionName(id: change.id, revision: leaf.revision), change.sequence, ticket))
            }
        }
        guard !announced.isEmpty else { return }
        if !replicator.configuration.peerIsKith { underWay.formUnion(announced.lazy.map(\.name.id)) }
        ChangesList.finish(&body)
        saidCaughtUp = false
        windows.unansweredLists += 1
        var properties: BLIPProperties = ["Profile": "changes"]
        if replicator.configuration.peerIsKith, let remaining {
            properties.append(ReplicationSession.remainingProperty, String(remaining))
        }
        // Not compressed: half of it is random digits, and deflating those takes longer than sending them.
        replicator.send(
            BLIPOutgoing(properties: properties, body: body, isUrgent: true, isNoReply: false, isCompressed: false)
        ) { [unowned self] reply in
            windows.unansweredLists -= 1
            answered(announced, reply)
        }
    }

    /// All leaves to a Kith node, the winner to others, where the peer wants to hear of the document.
    private func leaves(toAnnounceOf change: Change, withholding withheld: Set<RevisionName>) -> [Leaf] {
        if let documentIDs = subscription.documentIDs, !documentIDs.contains(change.id) { return [] }
        func passes(_ leaf: Leaf) -> Bool {
            withheld.isEmpty || !withheld.contains(RevisionName(id: change.id, revision: leaf.revision))
        }
        if replicator.configuration.peerIsKith {
            return withheld.isEmpty ? change.leaves : change.leaves.filter(passes)
        }
        // Of the others the winner alone, so none where that may not go.
        guard passes(change.winner) else { return [] }
        return change.winner.isDeleted && change.sequence <= subscription.skipsDeletionsThrough ? [] : [change.winner]
    }

    private func answered(_ announced: [(name: RevisionName, sequence: UInt64, ticket: Int)], _ reply: BLIPMessage) {
        if let error = reply.error {
            guard !ReplicationSession.isDirectionRefused(error) else { return session.peerRefused(.send) }
            return session.end(
                closeCode: error.code == 503 ? 4001 : 4002,
                "the peer does not take a list of changes: \(error.domain) \(error.code) \(error.message.prefix(200))")
        }
        let answers: [ChangesList.Answer]
        do {
            answers = try ChangesList.parseAnswers(reply.body, count: announced.count)
        } catch {
            return session.violation(error)
        }
        let historyMax = min(reply.properties.int("maxHistory") ?? limits.historyMax, limits.historyMax)
        let replacesGone = subscription.replacesGone || reply.properties.bool("sendReplacementRevs")
        var settled: [OutgoingRevision] = []
        var proofs: [Supersession] = []
        var asked: [(outgoing: OutgoingRevision, leaves: [RevisionID])] = []
        for (entry, answer) in zip(announced, answers) {
            switch answer {
            case .declined:
                replicator.taken(entry.name, isOutgoing: true)
                close(entry.ticket, of: entry.name.id)
            case .refused(let status):
                replicator.refused(
                    entry.name, by: .peer, isOutgoing: true, code: status, reason: "declined before it was sent")
                close(entry.ticket, of: entry.name.id)
            case .wanted(let ancestors):
                let outgoing = OutgoingRevision(
                    name: entry.name, sequence: entry.sequence, ticket: entry.ticket, ancestors: ancestors,
                    historyMax: max(1, historyMax), replacesGone: replacesGone && !replicator.configuration.peerIsKith)
                // A Kith node names the revision itself when it has it, and something is to be said of the leaves.
                if replicator.configuration.peerIsKith, ancestors.first == entry.name.revision {
                    asked.append((outgoing, Array(ancestors.dropFirst().prefix(limits.historyMax))))
                } else if replicator.configuration.peerIsKith, ancestors.count == 2,
                    ancestors[1] == entry.name.revision
                {
                    settled.append(outgoing)
                    proofs.append(
                        Supersession(id: entry.name.id, leaf: ancestors[0], revision: entry.name.revision))
                } else {
                    queue.append(outgoing)
                }
            }
        }
        learn(proofs, settled)
        teach(asked)
    }

    // MARK: Sending

    private func readRevisions() {
        guard !windows.isReadingRevisions, queued > 0, windows.unansweredBytes < limits.unansweredRevisionBytesMax,
            windows.unansweredRevisions < limits.unansweredRevisionsMax
        else { return }
        windows.isReadingRevisions = true
        let wanted = Array(queue[queueHead..<min(queue.count, queueHead + limits.revisionsPerReadMax)])
        replicator.perform(.readRevisions(wanted, bytesMax: limits.revisionsPerReadBytesMax)) {
            [unowned self] result in
            windows.isReadingRevisions = false
            guard case .revisions(let revisions) = result else { return session.storeFailed(result) }
            for (outgoing, revision) in zip(wanted, revisions) {
                switch revision {
                case .success(let revision?): send(revision, outgoing)
                case .success(nil):
                    if looksAgain, gone.count < limits.subscribedDocumentsMax { gone.append(outgoing.name.id) }
                    sendGone(outgoing)
                case .failure(let error):
                    replicator.refused(
                        outgoing.name, by: .here, isOutgoing: true, code: error.code.httpStatus, reason: error.message)
                    sendGone(outgoing, error: error.code.httpStatus)
                }
            }
            queueHead += revisions.count
            if queueHead == queue.count || queueHead > 4_096 {
                queue.removeFirst(queueHead)
                queueHead = 0
            }
        }
    }

    private func send(_ revision: RevisionForTransfer, _ outgoing: OutgoingRevision) {
        var properties = BLIPProperties()
        properties.reserve(byteCount: 160)
        properties.append("Profile", "rev")
        properties.append("id", revision.id.text)
        properties.append("rev") { revision.revision.append(to: &$0) }
        properties.append("sequence", positionText(outgoing.sequence))
        let (known, historyMax) = (outgoing.ancestors, outgoing.historyMax)
        let history =
            replicator.configuration.peerIsKith
            ? SentHistory.text(of: revision, known: known, max: historyMax)
            : SentHistory.textWithoutGaps(of: revision, known: known, max: historyMax)
        if !history.isEmpty { properties.append("history", history) }
        if revision.isDeleted { properties.append("deleted", "1") }
        if revision.revision != outgoing.name.revision {
            properties.append("replacedRev", outgoing.name.revision.description)
        }
        let body = RevisionMessage.body(of: revision)
        let digests = revision.attachments.digests
        let bytes = body.count + properties.byteCount
        windows.unansweredBytes += bytes
        windows.unansweredRevisions += 1
        replicator.blobSender.noteSent(digests)
        replicator.send(
            BLIPOutgoing(
                properties: properties, body: body, isUrgent: false, isNoReply: false,
                isCompressed: body.count >= limits.compressedBodyBytesMin)
        ) { [unowned self] reply in
            windows.unansweredBytes -= bytes
            windows.unansweredRevisions -= 1
            replicator.blobSender.noteAnswered(digests)
            if let error = reply.error {
                if replicator.configuration.peerIsKith, error.domain == "HTTP", Self.isTransient(error.code) {
                    return session.end(
                        closeCode: 4001, "the peer cannot store now: \(error.code) \(error.message.prefix(200))")
                }
                // Attachments that went meanwhile are as good as a revision that did: a newer one will be announced.
                if digests.isEmpty || error.code != 410 {
                    replicator.refused(
                        RevisionName(id: revision.id, revision: revision.revision), by: .peer, isOutgoing: true,
                        code: error.code, reason: error.message)
                }
            } else {
                session.standing.revisionsSent += 1
                session.noteArrival(
                    RevisionName(id: revision.id, revision: revision.revision), in: replicator.collection,
                    isOutgoing: true)
                replicator.taken(RevisionName(id: revision.id, revision: revision.revision), isOutgoing: true)
            }
            close(outgoing.ticket, of: revision.id)
        }
    }

    /// One announced revision is done.
    private func close(_ ticket: Int, of id: DocumentID) {
        tracker.close(ticket)
        guard !underWay.isEmpty else { return }
        underWay.remove(id)
        if blocking == id { blocking = nil }
    }

    /// A sequence as the peer is told it.
    private func positionText(_ sequence: UInt64) -> String {
        SentPosition.text(sequence, tag: replicator.configuration.filterTag)
    }

    /// Tells the peer that an announced revision cannot come, mostly since a newer one took its place, which will be
    /// announced.
    ///
    /// - Parameters:
    ///   - error: what is wrong with it, as an HTTP status.
    ///   - proof: pairs of revisions, what supersedes and what is superseded.
    func sendGone(_ outgoing: OutgoingRevision, error: Int = 410, proof: [RevisionID] = []) {
        var properties: BLIPProperties = [
            "Profile": "norev", "id": outgoing.name.id.text, "rev": outgoing.name.revision.description,
            "sequence": positionText(outgoing.sequence), "error": String(error),
        ]
        if !proof.isEmpty {
            properties.append(
                RevisionMessage.supersededProperty, proof.map(\.description).joined(separator: ","))
        }
        replicator.send(
            BLIPOutgoing(
                properties: properties, body: [], isUrgent: false, isNoReply: true, isCompressed: false))
        close(outgoing.ticket, of: outgoing.name.id)
    }

    /// Codes of a Kith node after which the same revision may be stored later without anybody changing it. A client also
    /// answers so for a document that it can never take, and keeps its own checkpoint: the next pull offers it again.
    private static func isTransient(_ code: Int) -> Bool {
        switch code {
        case 408, 429: true
        // Whatever is wrong at the peer itself says nothing about this revision.
        default: code >= 500 && code != 501
        }
    }
}
