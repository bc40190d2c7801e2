import KithDocuments
import KithStore
import KithWire

// What the peer is told of, and what it says to that.

extension Pusher {
    private var recountIntervalSeconds: Double {
        max(limits.recountIntervalSeconds, Double(remaining ?? 0) / limits.recountedDocumentsPerSecond)
    }

    func readChanges() {
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
    func offerNamed() {
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
    func stepOverEchoes() {
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
}
