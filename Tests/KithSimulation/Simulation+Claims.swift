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
        // The end has not heard yet that the other database is another one.
        guard nodes[link.ends[1 - end].node].databaseNumber == link.ends[1 - end].databaseNumber else { return }
        let status = session.status
        let held = session.blobBytesHeld
        if held > session.configuration.limits.blobBytesHeldMax {
            fail("node \(link.ends[end].node) holds \(held) bytes of blobs on link \(link.id)")
        }
        report.messageBytesQueuedMax = max(report.messageBytesQueuedMax, session.messageBytesQueued)
        let isDone = status.directions.contains(.send) && (status.state == .idle || status.toSend == 0)
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
        let changes = try nodes[link.ends[other].node].database.read { snapshot in
            // It may have been dropped since.
            guard try snapshot.hasCollection(collection) else { return [Change]() }
            return try snapshot.collection(collection).changes(since: from, limit: 10_000)
        }
        let names = changes.lazy.filter { $0.sequence <= through }.flatMap { change in
            change.leaves.map { (change.id, $0.revision) }
        }
        let lookups = try lookup(Array(names), on: nodes[link.ends[end].node])
        for (name, lookup) in zip(names, lookups) where !purged.contains(name.0) {
            if case .missing = lookup {
                fail(
                    "node \(link.ends[end].node) lacks \(name.0) \(name.1) of node \(link.ends[other].node), which is before \(through) by \(claimant)"
                )
            }
        }
    }

    /// Notes a fault; what follows from it would only bury it.
    func fail(_ text: String) {
        note("FAULT: \(text)")
        if report.failures.count < SimulationReport.failuresMax { report.failures.append("at \(seconds): \(text)") }
    }
}
