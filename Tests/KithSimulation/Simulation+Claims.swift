import KithDocuments
import KithReplication
import KithStore

// What a session says while it runs, compared at that moment with what the stores hold. Only the simulation can see both.

extension Simulation {
    /// Compares what one end says of the other with the truth: `sentThrough`, which becomes checkpoints, and that all is
    /// done where it says so.
    ///
    /// What was compared once is not compared again, so the cost grows with the changes.
    func checkClaims(_ link: SimulatedLink, _ end: Int) throws {
        guard let session = link.ends[end].session, session.ended == nil else { return }
        if link.client != nil { return try checkClientClaims(link, session) }
        // The end has not heard yet that the other database is another one.
        guard nodes[link.ends[1 - end].node].databaseNumber == link.ends[1 - end].databaseNumber else { return }
        let status = session.status
        let held = session.blobBytesHeld
        if held > session.configuration.limits.blobBytesHeldMax {
            fail("node \(link.ends[end].node) holds \(held) bytes of blobs on link \(link.id)")
        }
        report.messageBytesQueuedMax = max(report.messageBytesQueuedMax, session.messageBytesQueued)
        // What is once is done when what there was at its beginning is, see `checkOnce`.
        let isDone = !link.isOnce && status.directions.contains(.send) && (status.state == .idle || status.toSend == 0)
        for collection in collections {
            var through = status.sentThrough[collection] ?? 0
            if isDone { through = max(through, link.ends[end].toldThrough[collection] ?? 0) }
            try checkThat(
                link, 1 - end, has: through, in: collection,
                saidBy: isDone ? "status \(status.state), to send 0" : "sentThrough")
        }
        if status.state == .idle, status.toSend != 0 || status.toReceive != 0 {
            fail("node \(link.ends[end].node) is idle on link \(link.id) with \(status)")
        }
    }

    /// Nothing is read for a peer that may not have it, nor stored that came from one that may not give it.
    func checkDirection(_ link: SimulatedLink, _ end: Int, _ request: StoreRequest) {
        let node = link.ends[end].node
        switch request {
        case .readRevisions where !link.allows(to: 1 - end):
            fail("node \(node) reads revisions for link \(link.id), on which it sends nothing")
        case .insert where !link.allows(to: end):
            fail("node \(node) stores what came by link \(link.id), on which it receives nothing")
        case .supersede(let supersessions)
        where !supersessions.isEmpty && !link.ends[end].directions.contains(.receive):
            fail("node \(node) takes the word of link \(link.id), on which it receives nothing")
        default: break
        }
    }

    /// Compares a checkpoint with the truth before the peer keeps it.
    func checkCheckpoint(_ link: SimulatedLink, _ collection: CollectionName, _ body: [UInt8]) throws {
        let value = try JSONValue(parsing: body)
        let positions = [value["local"], value["remote"]].map { UInt64(clamping: $0?.int64Value ?? 0) }
        guard nodes[link.ends[0].node].databaseNumber == link.ends[0].databaseNumber else { return }
        try checkThat(link, 1, has: positions[0], in: collection, saidBy: "a checkpoint")
        try checkThat(link, 0, has: positions[1], in: collection, saidBy: "a checkpoint")
    }

    /// Whether the node at one end has all that changed up to a sequence at the other end.
    private func checkThat(
        _ link: SimulatedLink, _ end: Int, has through: UInt64, in collection: CollectionName, saidBy claimant: String
    ) throws {
        let other = 1 - end
        let from = link.ends[other].provenThrough[collection] ?? 0
        guard through > from else { return }
        link.ends[other].provenThrough[collection] = through
        let names = try self.names(
            of: nodes[link.ends[other].node], in: collection, since: from, through: through,
            link.ends[other].filter)
        let lookups = try lookup(names, on: nodes[link.ends[end].node])
        for (name, lookup) in zip(names, lookups) where !purged.contains(name.0) {
            if case .missing = lookup {
                fail(
                    "node \(link.ends[end].node) lacks \(name.0) \(name.1) of node \(link.ends[other].node), which is before \(through) by \(claimant)"
                )
            }
        }
    }

    /// The leaves of what changed last between two sequences, as far as a filter lets them pass.
    func names(
        of node: SimulatedNode, in collection: CollectionName, since: UInt64, through: UInt64,
        _ filter: SimulatedFilter?
    ) throws -> [(DocumentID, RevisionID)] {
        try node.database.read { snapshot in
            // It may have been dropped since.
            guard try snapshot.hasCollection(collection) else { return [] }
            let snapshot = try snapshot.collection(collection)
            let changes = try snapshot.changes(since: since, limit: 100_000).filter { $0.sequence <= through }
            let names = changes.flatMap { change in change.leaves.map { (change.id, $0.revision) } }
            guard let filter else { return names }
            return try names.filter { id, revision in
                guard let document = try snapshot.document(id, revision: revision) else { return false }
                return filter.includes(id, document.body)
            }
        }
    }

    /// Nothing that a filter withholds is read to be sent.
    func checkFilter(_ link: SimulatedLink, _ end: Int, _ result: StoreResult) {
        guard let filter = link.ends[end].filter, case .revisions(let revisions) = result else { return }
        for case .success(let revision?) in revisions where !filter.includes(revision.id, revision.body) {
            fail(
                "node \(link.ends[end].node) sends \(revision.id) \(revision.revision) on link \(link.id) in spite of its filter"
            )
        }
    }

    /// What was to be once is done: everything that was there at the beginning and may travel is at the other end, as far as it
    /// is as it was then, and status says so.
    func checkOnce(_ link: SimulatedLink, _ session: ReplicationSession) throws {
        let status = session.status
        if !status.isComplete || status.toSend != 0 || status.toReceive != 0 {
            fail("link \(link.id) is done with \(status)")
        }
        report.onceCompleted += 1
        for end in 0..<2 where link.allows(to: 1 - end) {
            let (from, to) = (nodes[link.ends[end].node], nodes[link.ends[1 - end].node])
            guard to.databaseNumber == link.ends[1 - end].databaseNumber,
                from.databaseNumber == link.ends[end].databaseNumber
            else { continue }
            for (collection, through) in link.beganThrough[end] {
                let all = try names(of: from, in: collection, since: 0, through: through, link.ends[end].filter)
                let names = all.filter { link.documentIDs?.contains($0.0) ?? true }
                for (name, lookup) in zip(names, try lookup(names, on: to)) where !purged.contains(name.0) {
                    if case .missing = lookup {
                        fail(
                            "link \(link.id) is done, and node \(to.index) lacks \(name.0) \(name.1) of node \(from.index)"
                        )
                    }
                }
            }
        }
    }

    /// Notes a fault; what follows from it would only bury it.
    func fail(_ text: String) {
        note("FAULT: \(text)")
        if report.failures.count < SimulationReport.failuresMax { report.failures.append("at \(seconds): \(text)") }
    }
}
