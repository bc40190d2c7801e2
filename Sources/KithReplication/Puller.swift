import KithDocuments
import KithStore
import KithWire

/// Takes the peer's changes: says which of the announced revisions are wanted, stores them, and knows up to which of
/// the peer's sequences everything is durable here.
///
/// Its answers are its back-pressure: while too much is on its way or waits for the disk, an announced list is not
/// answered, so the peer sends no more.
final class Puller {
    unowned let replicator: CollectionReplicator
    var session: ReplicationSession { replicator.session }
    let limits: ReplicationLimits
    private let windows: SharedWindows
    private var tracker: SequenceTracker<[UInt8]>
    private var lists: [ReceivedList] = []
    private var awaited: [RevisionName: AwaitedTickets] = [:]
    private var incoming: [ReceivedRevision] = []
    private var isInserting = false
    /// Revisions that wait for the bytes of their attachments.
    private lazy var blobs = BlobReceiver(
        replicator: replicator, ready: { [unowned self] item in take(item) },
        refuse: { [unowned self] item, error in
            refuse(item, error)
        },
        gone: { [unowned self] item in
            session.replyError(domain: "HTTP", code: 410, "its attachments are gone", to: item.number)
            finish(item.tickets)
        })
    /// What the peer said it has behind its last list; `nil` from a peer that does not say.
    private var remaining: Int?
    /// Whether the peer has said that nothing is behind what it has announced.
    private(set) var isCaughtUp = false

    init(replicator: CollectionReplicator, completed: [UInt8]?) {
        self.replicator = replicator
        self.limits = replicator.configuration.limits
        self.windows = replicator.windows
        self.tracker = SequenceTracker(completed: completed)
    }

    /// The last of the peer's sequences up to which everything is durable here, as JSON text.
    var completed: [UInt8]? { tracker.completed }

    /// The peer's documents that are announced or said to remain, and not stored; `nil` when unknown.
    var pending: Int? {
        if let remaining { return remaining + unfinished }
        return isCaughtUp ? unfinished : nil
    }

    private var unfinished: Int { tracker.count + lists.reduce(0) { $0 + $1.count } }

    /// Whether everything that the peer has is stored. A client that only pulls never says that it has nothing.
    var isIdle: Bool {
        (isCaughtUp || replicator.isServingClient) && unfinished == 0 && incoming.isEmpty && !isInserting
            && blobs.count == 0
    }

    // MARK: Announcements

    func receiveChanges(_ message: BLIPMessage) {
        receive(message) { (body: [UInt8]) throws(KithError) in
            .changes(try ChangesList.parse(body, entriesMax: limits.receivedChangesPerListMax))
        }
    }

    /// `proposeChanges`: an active peer asks which of its revisions would be taken without conflict.
    func receiveProposals(_ message: BLIPMessage) {
        receive(message) { (body: [UInt8]) throws(KithError) in
            .proposals(try ProposalsList.parse(body, entriesMax: limits.receivedChangesPerListMax))
        }
    }

    private func receive(_ message: BLIPMessage, parse: ([UInt8]) throws(KithError) -> ReceivedList.Content) {
        guard message.body.count <= limits.receivedListBytesMax else {
            return session.replyError(
                KithError(.tooLarge, "a list of changes has at most \(limits.receivedListBytesMax) bytes"),
                to: message)
        }
        var list: ReceivedList
        do {
            list = ReceivedList(try parse(message.body), message)
        } catch {
            return session.replyError(error, to: message)
        }
        if list.count == 0 {
            isCaughtUp = true
            remaining = remaining.map { _ in 0 }
            session.reply(to: message)
            return
        }
        // A list that wants no answer can lead to nothing (Couchbase Lite ignores it as well).
        guard !message.isNoReply else { return }
        guard lists.count < limits.receivedListsMax else {
            return session.end(
                closeCode: 1002, "the peer sent \(limits.receivedListsMax) lists without waiting for an answer")
        }
        windows.listBytes += message.body.count
        guard windows.listBytes <= limits.receivedListsMax * limits.receivedListBytesMax else {
            return session.end(closeCode: 1008, "the peer sends lists of changes and does not wait for answers")
        }
        list.byteCount = message.body.count
        if let text = message.properties[ReplicationSession.remainingProperty], let count = Int(text), count >= 0 {
            remaining = count
            // What is asked for once ends when the peer says so: it looks whether something has slipped behind the end.
            isCaughtUp = count == 0 && replicator.configuration.isContinuous
        }
        list.message.body = []
        lists.append(list)
    }

    /// Whether there is something to answer, to store or to fetch.
    var hasWork: Bool { !lists.isEmpty || !incoming.isEmpty || blobs.hasQueue }

    /// Stores what has come, and answers the next list when the windows allow.
    func work() {
        insert()
        blobs.fetchNext()
        guard !windows.isLookingUp, let list = lists.first,
            windows.awaitedRevisions + windows.heldRevisions < limits.awaitedRevisionsMax,
            windows.heldBytes <= limits.receivedBytesMax, !session.isCongested
        else { return }
        windows.isLookingUp = true
        let request: StoreRequest =
            switch list.content {
            case .changes(let entries): .lookUp(entries.compactMap(\.name))
            case .proposals(let entries): .judge(entries.compactMap(\.proposal))
            }
        replicator.perform(request) { [unowned self] result in
            windows.isLookingUp = false
            switch (list.content, result) {
            case (.changes(let entries), .lookups(let lookups)):
                removeFirstList()
                answer(entries, lookups, to: list.message)
            case (.proposals(let entries), .judgements(let judgements)):
                removeFirstList()
                answer(entries, judgements, to: list.message)
            default: return session.storeFailed(result)
            }
        }
    }

    private func removeFirstList() { windows.listBytes -= lists.removeFirst().byteCount }

    private func answer(_ entries: [ChangesList.Entry], _ lookups: [RevisionLookup], to message: BLIPMessage) {
        var body: [UInt8] = []
        var lookups = lookups[...]
        /// What the list announces; made where it is asked for.
        lazy var announced = Set(entries.compactMap(\.name))
        /// The ticket of the change at hand. A document with several leaves has an entry for each, and is done with the last
        /// of them: until then one is held open.
        var change: (sequence: [UInt8], ticket: Int)?
        func ticket(of entry: ChangesList.Entry) -> Int {
            if let change, change.sequence == entry.sequence { return change.ticket }
            if let change { tracker.close(change.ticket) }
            let ticket = tracker.add(entry.sequence, open: 1)
            change = (entry.sequence, ticket)
            return ticket
        }
        func wait(for name: RevisionName, _ ticket: Int) -> Bool {
            tracker.open(ticket)
            return expect(name, ticket)
        }
        /// Tells a Kith node what may be wrong with its leaves, or with those here; a `norev` finishes it.
        func tell(_ name: RevisionName, _ ticket: Int, _ revisions: [RevisionID]) {
            _ = wait(for: name, ticket)
            ChangesList.append(.wanted(revisions), to: &body)
        }
        /// The leaves of the document at hand that the list does not have and that were not asked about yet: once for a
        /// document is enough, however many of its leaves are here.
        var others: (id: DocumentID, leaves: ArraySlice<RevisionID>)?
        func takeOthers(_ id: DocumentID, _ leaves: [RevisionID]) -> ArraySlice<RevisionID> {
            var rest = others?.leaves ?? []
            if others?.id != id {
                rest = leaves.filter { !announced.contains(RevisionName(id: id, revision: $0)) }[...]
            }
            others = (id, rest.dropFirst(limits.historyMax))
            return rest.prefix(limits.historyMax)
        }
        for entry in entries {
            let ticket = ticket(of: entry)
            if entry.isGone {
                ChangesList.append(.declined, to: &body)
                continue
            }
            guard let name = entry.name, let lookup = lookups.popFirst() else {
                refuse(entry.rawID, entry.rawRevision, to: &body)
                continue
            }
            switch lookup {
            case .superseded(let leaf) where replicator.configuration.peerIsKith:
                tell(name, ticket, [leaf, name.revision])
            case .branch(let leaves) where replicator.configuration.peerIsKith:
                let others = takeOthers(name.id, leaves)
                if others.isEmpty { fallthrough }
                tell(name, ticket, [name.revision] + others)
            case .known, .branch, .superseded:
                replicator.taken(name, isOutgoing: false)
                ChangesList.append(.declined, to: &body)
            case .missing(let ancestors):
                // Asked for already under an earlier sequence: once is enough.
                let isNew = wait(for: name, ticket)
                ChangesList.append(isNew ? .wanted(ancestors) : .declined, to: &body)
            }
        }
        if let change { tracker.close(change.ticket) }
        reply(body, to: message)
    }

    // MARK: Revisions

    func receiveRevision(_ message: BLIPMessage) {
        let parsed: IncomingRevision?
        do {
            parsed = try RevisionMessage.parse(message, limits: limits)
        } catch {
            return refuseRevision(message, error)
        }
        guard let incoming = parsed else {
            // Couchbase Lite takes it for a `norev` as well.
            session.reply(to: message)
            return receiveNoRevision(message)
        }
        let tickets = takeAwaited(RevisionName(id: incoming.id, revision: incoming.revision))
        let size = incoming.body.count + message.properties.byteCount + limits.receivedRevisionOverheadBytes
        let item = ReceivedRevision(revision: incoming, number: message.number, tickets: tickets, size: size)
        guard !incoming.attachments.isEmpty else { return take(item) }
        // What an honest peer sends before it waits for answers is far below both.
        guard windows.heldBytes + size <= limits.heldRevisionBytesMax,
            windows.heldRevisions < limits.awaitedRevisionsMax + limits.receivedChangesPerListMax
        else { return session.end(closeCode: 1008, "the peer sends documents and does not wait for answers") }
        blobs.hold(item)
    }

    /// Takes a revision that can be stored.
    private func take(_ item: ReceivedRevision) {
        windows.receivedBytes += item.size
        incoming.append(item)
    }

    /// A revision that cannot be taken as it came: its sender is told, and nothing waits for it any more.
    func refuseRevision(_ message: BLIPMessage, _ error: KithError) {
        // The whole revision follows, without being announced again.
        if error.code == .deltaNotSupported { return session.replyError(error, to: message) }
        replicator.refused(
            id: message.properties["id"] ?? "", revision: message.properties["rev"] ?? "", by: .here,
            isOutgoing: false, code: error.code.httpStatus, reason: error.message)
        session.replyError(error, to: message)
        if let name = RevisionMessage.name(message) { finish(takeAwaited(name)) }
    }

    func receiveNoRevision(_ message: BLIPMessage) {
        guard let name = RevisionMessage.name(message) else { return }
        let tickets = takeAwaited(name)
        // It is there and the peer cannot give it. One that is gone (410) has a newer one in its place.
        if replicator.configuration.peerIsKith, tickets != nil, let code = message.properties.int("error"),
            code != 410
        {
            replicator.refused(
                name, by: .peer, isOutgoing: false, code: code,
                reason: message.properties["reason"] ?? "the peer cannot read it")
        }
        let proofs = replicator.configuration.peerIsKith ? RevisionMessage.supersessions(message, of: name.id) : []
        replicator.supersede(proofs) { [unowned self] in
            finish(tickets)
        }
    }

    /// Stores what has arrived. While the store works, more arrives, and goes in the next call together: one revision
    /// alone waits for nothing, a stream of them shares commits.
    private func insert() {
        guard !isInserting, !incoming.isEmpty else { return }
        isInserting = true
        var count = 0
        var bytes = 0
        while count < incoming.count, count < limits.insertBatchMax, count == 0 || bytes < limits.insertBatchBytesMax {
            bytes += incoming[count].size
            count += 1
        }
        let batch = Array(incoming.prefix(count))
        incoming.removeFirst(count)
        replicator.perform(.insert(batch.map(\.revision))) { [unowned self] result in
            isInserting = false
            windows.receivedBytes -= bytes
            guard case .inserted(let outcomes) = result else {
                // No answer: what the peer has sent stays unacknowledged, and the end of the link says why.
                return session.storeFailed(result)
            }
            for (item, outcome) in zip(batch, outcomes) { stored(item, outcome) }
        }
    }

    private func stored(_ item: ReceivedRevision, _ outcome: Result<Insertion, KithError>) {
        switch outcome {
        case .success(let insertion):
            if case .inserted(let sequence) = insertion.outcome {
                session.standing.revisionsReceived += 1
                session.noteArrival(item.name, in: replicator.collection, isOutgoing: false)
                if let pusher = replicator.pusher {
                    pusher.noteEcho(item.revision.revision, sequence, after: insertion.previousSequence)
                } else {
                    session.received[replicator.collection, default: ReceivedChanges()].note(
                        sequence, after: insertion.previousSequence)
                }
            }
            replicator.taken(item.name, isOutgoing: false)
            session.reply(to: item.number)
            finish(item.tickets)
        case .failure(let error) where error.code == .attachmentMissing && item.blobAttempts < limits.blobAttemptsMax:
            // It was here when it was looked for; the last document that had it has been edited since.
            blobs.hold(item)
        case .failure(let error) where error.code == .conflict && item.revision.refusesConflict:
            // Nothing is wrong with the document: the client resolves the conflict and comes again.
            session.replyError(error, to: item.number)
            finish(item.tickets)
        case .failure(let error): refuse(item, error)
        }
    }

    private func refuse(_ item: ReceivedRevision, _ error: KithError) {
        replicator.refused(
            item.name, by: .here, isOutgoing: false, code: error.code.httpStatus, reason: error.message)
        session.replyError(error, to: item.number)
        finish(item.tickets)
    }

    /// - Returns: whether it was not awaited before.
    private func expect(_ name: RevisionName, _ ticket: Int) -> Bool {
        guard var earlier = awaited.updateValue(AwaitedTickets(ticket), forKey: name) else {
            windows.awaitedRevisions += 1
            return true
        }
        earlier.others.append(ticket)
        awaited[name] = earlier
        return false
    }

    private func takeAwaited(_ name: RevisionName) -> AwaitedTickets? {
        guard let tickets = awaited.removeValue(forKey: name) else { return nil }
        windows.awaitedRevisions -= 1
        return tickets
    }

    private func finish(_ tickets: AwaitedTickets?) {
        guard let tickets else { return }
        tracker.close(tickets.first)
        for ticket in tickets.others { tracker.close(ticket) }
    }
}
