import KithDocuments
import KithReplication
import KithStore

// What a node says of a client, what a client says of a node, and what both have at the end.

extension Simulation {
    /// As `checkClaims`: what the node says that a client has, the client has.
    func checkClientClaims(_ link: SimulatedLink, _ session: ReplicationSession) throws {
        guard let client = link.client, nodes[client.node].databaseNumber == link.ends[1].databaseNumber else { return }
        let status = session.status
        if session.blobBytesHeld > session.configuration.limits.blobBytesHeldMax {
            fail("node \(client.node) holds \(session.blobBytesHeld) bytes of blobs on link \(link.id)")
        }
        report.messageBytesQueuedMax = max(report.messageBytesQueuedMax, session.messageBytesQueued)
        guard client.options.pulls else { return }
        var through = status.sentThrough[.default] ?? 0
        if client.options.isContinuous, status.state == .idle || status.toSend == 0 {
            through = max(through, link.ends[1].toldThrough[.default] ?? 0)
        }
        try checkThat(client, has: through, link, saidBy: "status \(status.state), to send 0, or sentThrough")
    }

    private func checkThat(
        _ client: SimulatedClient, has through: UInt64, _ link: SimulatedLink, saidBy claimant: String
    ) throws {
        let from = link.ends[1].provenThrough[.default] ?? 0
        guard through > from else { return }
        link.ends[1].provenThrough[.default] = through
        let changes = try nodes[client.node].database.read { try $0.changes(since: from, limit: 100_000) }
        for change in changes where change.sequence <= through && client.replicates(change.id) {
            guard !client.database.knows(change.id, change.winner.revision) else { continue }
            fail(
                "client \(client.index) lacks \(change.id) \(change.winner.revision) of node \(client.node), which is before \(through) by \(claimant)"
            )
        }
    }

    /// Before a client keeps a checkpoint, both its positions are true.
    func check(_ claim: (pulledThrough: UInt64, pushedThrough: UInt64), _ link: SimulatedLink) throws {
        guard let client = link.client, nodes[client.node].databaseNumber == link.ends[1].databaseNumber else { return }
        if client.options.pulls {
            try checkThat(client, has: claim.pulledThrough, link, saidBy: "the client's checkpoint")
        }
        let pushed = client.database.documents.filter { id, document in
            document.sequence <= claim.pushedThrough && client.replicates(id)
        }.compactMap { id, document in document.revision.map { (id, $0) } }
        for (name, lookup) in zip(pushed, try lookup(pushed, on: nodes[client.node])) {
            if case .missing = lookup {
                fail(
                    "node \(client.node) lacks \(name.0) \(name.1), which is in the checkpoint of client \(client.index)"
                )
            }
        }
    }

    /// At the end: both have the same, as far as the client replicates it.
    func check(_ client: SimulatedClient) throws {
        if client.options.isContinuous {
            let session = client.link.flatMap { links[$0].ends[1].session }
            if session?.status.state != .idle || client.options.pulls && session?.status.toSend != 0 {
                fail(
                    "node \(client.node) is not idle with client \(client.index): \(session.map { "\($0.status)" } ?? "no link")"
                )
            }
            if let refusals = session?.status.refusals, refusals > 0 {
                fail("client \(client.index): \(refusals) refusals")
            }
        }
        guard client.options.pulls else { return }
        let all = try nodes[client.node].database.read { try $0.changes(since: 0, limit: 100_000) }
        let changes = all.filter { client.replicates($0.id) }
        for change in changes {
            let mine = client.database.documents[change.id]
            report.takenByClients += mine == nil ? 0 : 1
            guard mine?.revision != change.winner.revision, !(change.winner.isDeleted && mine?.revision == nil) else {
                continue
            }
            fail(
                "client \(client.index) has \(change.id) as \(mine?.revision?.description ?? "nothing"), and node \(client.node) as \(change.winner.revision)"
            )
        }
        let known = Set(changes.map(\.id))
        for id in client.database.documents.keys.sorted() where client.replicates(id) && !known.contains(id) {
            fail("node \(client.node) lacks \(id) of client \(client.index)")
        }
    }
}
