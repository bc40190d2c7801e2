import KithDocuments
import KithReplication
import KithStore

// Couchbase Lite clients at the nodes.

extension Simulation {
    func connectClient(_ client: SimulatedClient) throws {
        client.isConnecting = false
        let node = nodes[client.node]
        // One connection at a time.
        guard client.link.map({ links[$0].replicator == nil }) ?? true else { return }
        guard node.isUp else { return reconnect(client) }
        let replicator = ClientReplicator(client, seed: random.next())
        let link = SimulatedLink(id: links.count, client: client, replicator: replicator, node: node)
        links.append(link)
        client.link = link.id
        note("client \(client.index) opens link \(link.id) to node \(node.index)")
        let limits = configuration.limits
        let session = ReplicationSession(
            ReplicationConfiguration(
                role: .passive, checkpointName: "none", progressName: "progress/client-\(client.index)",
                peerIsKith: configuration.sabotage == .takesClientsForNodes, limits: limits[node.index % limits.count]))
        link.ends[1].session = session
        link.ends[1].toldThrough = try node.lastSequences()
        session.start(lastSequence: link.ends[1].toldThrough[.default] ?? 0, now: now(node.index))
        try pump(link, 1)
        try pumpClient(link)
    }

    private func reconnect(_ client: SimulatedClient) {
        guard !client.isConnecting else { return }
        client.isConnecting = true
        queue.add(.connectClient(client.index), at: seconds + random.seconds(0.05...3))
    }

    /// Moves everything that can move at the client's end.
    func pumpClient(_ link: SimulatedLink) throws {
        guard let replicator = link.replicator, let client = link.client else { return }
        while !link.ends[0].arrived.isEmpty {
            let bytes = link.ends[0].arrived.removeFirst()
            link.ends[0].inFlight -= 1
            report.frames += 1
            replicator.receive(bytes)
        }
        for fault in replicator.takeFaults() { fail("\(fault) (link \(link.id))") }
        for name in replicator.acknowledged {
            note("node \(client.node) took \(name.id) \(name.revision) of client \(client.index)")
            acknowledged.append(name)
            report.acknowledged += 1
            report.takenFromClients += 1
        }
        replicator.acknowledged = []
        for claim in replicator.claims { try check(claim, link) }
        replicator.claims = []
        sendFromClient(link)
        if replicator.isFinished {
            note("client \(client.index) is done")
            let time = seconds + random.seconds(0...configuration.delaySecondsMax)
            link.cut(afterSeconds: [seconds, time])
            link.replicator = nil
            queue.add(.loseLink(link: link.id, end: 1), at: time)
            if time < configuration.busySeconds {
                queue.add(.connectClient(client.index), at: seconds + random.seconds(0.5...10))
            }
        }
        // The window to this end has room again.
        if let sender = link.ends[1].session { send(link, from: 1, sender) }
    }

    func sendFromClient(_ link: SimulatedLink) {
        guard let replicator = link.replicator else { return }
        var bytes: [UInt8] = []
        while link.ends[1].inFlight < configuration.windowFrames, replicator.appendNextFrame(to: &bytes) {
            send(bytes, link, from: 0)
            bytes = []
        }
    }

    func cutClient(_ client: SimulatedClient) {
        guard let id = client.link, links[id].replicator != nil else { return }
        note("the link of client \(client.index) is cut")
        links[id].cut(afterSeconds: (0..<2).map { _ in seconds + random.seconds(0...configuration.delaySecondsMax) })
        for end in 0..<2 { queue.add(.loseLink(link: id, end: end), at: seconds + random.seconds(0...8)) }
    }

    /// The client finds out that its connection is gone.
    func loseClient(_ link: SimulatedLink) {
        guard link.replicator != nil, let client = link.client else { return }
        link.replicator = nil
        link.ends[0].arrived = []
        link.ends[0].deafAfterSeconds = min(link.ends[0].deafAfterSeconds, seconds)
        reconnect(client)
    }

    // MARK: What the people with the clients do

    func act(on client: SimulatedClient) throws {
        guard let id = documentID(random.int(0..<configuration.documentCount)), collection(of: id) == .default,
            client.replicates(id)
        else { return }
        let old = client.database.documents[id]
        let isThere = old?.revision != nil && old?.isDeleted == false
        let deletes = isThere && random.chance(0.15)
        let properties = (0..<4).map { "\"p\($0)\":\(random.int(0..<1_000))" }.joined(separator: ",")
        let body = deletes ? "{}" : "{\(properties),\"text\":\"client \(client.index)\"}"
        let attachments = deletes || !isThere ? AttachmentList() : old?.attachments ?? AttachmentList()
        let revision = try client.database.save(
            id, Array(body.utf8), attachments: attachments, isDeleted: deletes,
            digest: ClientReplicator.digest(&random))
        note("client \(client.index) wrote \(id) \(revision)")
        guard let link = client.link.map({ links[$0] }), let replicator = link.replicator else { return }
        replicator.databaseChanged()
        try pumpClient(link)
    }
}
