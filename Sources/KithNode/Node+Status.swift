import KithDocuments
import KithStore
import KithTransport
import KithTrust

extension Node {
    /// How the node stands now.
    public func status() async -> NodeStatus {
        var databases: [NodeStatus.DatabaseStatus] = []
        var conflicts: [NodeStatus.ConflictStatus] = []
        var problems = registry.failures.map { name, error in
            NodeStatus.Problem(
                code: error.code.name, severity: .error, subject: name.text, text: error.message, command: nil)
        }
        for database in registry.all {
            let bytes = Int64(database.database.sizeOnDisk)
            let name = database.name.text
            let answer = try? await database.read { snapshot in
                (
                    collections: try CollectionCounts.all(snapshot, conflictsMax: 10),
                    sequence: try snapshot.lastSequence, policy: try snapshot.settings().mergePolicy
                )
            }
            guard let answer else {
                problems.append(
                    NodeStatus.Problem(
                        code: "database-unreadable", severity: .error, subject: name,
                        text: "the database \"\(name)\" cannot be read", command: nil))
                continue
            }
            databases.append(
                NodeStatus.DatabaseStatus(
                    name: name, documents: answer.collections.reduce(0) { $0 + $1.documents }, bytes: bytes,
                    sequence: answer.sequence, conflicts: answer.collections.reduce(0) { $0 + $1.conflicts },
                    mergePolicy: answer.policy))
            for collection in answer.collections where collection.conflicts > 0 {
                // As a command takes it: the database, and the collection where it is not the default one.
                let place = collection.name == .default ? name : "\(name).\(collection.name)"
                for change in collection.firstConflicts where conflicts.count < 10 {
                    conflicts.append(
                        NodeStatus.ConflictStatus(
                            database: place, id: change.id.text, versions: change.leaves.count { !$0.isDeleted }))
                }
                problems.append(
                    NodeStatus.Problem(
                        code: "conflicts", severity: .attention, subject: place,
                        text: collection.conflicts == 1
                            ? "1 document in conflict" : "\(collection.conflicts) documents in conflict",
                        command: "kith conflicts \(place)"))
            }
        }
        let peers = home.peerBook.peers.map { links.status(of: $0) }
        for peer in peers {
            for database in peer.databases where database.refused > 0 {
                problems.append(.refused(database.refused, of: database.name, by: peer.name))
            }
        }
        let servers = await serverStatus()
        for server in servers {
            if server.refused > 0 {
                problems.append(.refused(server.refused, of: server.database, by: server.url))
            }
            if server.state == .waiting, let error = server.lastError {
                problems.append(
                    NodeStatus.Problem(
                        code: "server", severity: .attention, subject: server.database, text: error, command: nil))
            }
        }
        for peer in home.peerBook.peers { problems += links.problems(of: peer) }
        problems += trustProblems
        if let site { problems += site.problems(own: identity.peerView) }
        // What was switched off on purpose is no problem.
        if discovers, case .off(let reason, let remedy) = discoveryStatus {
            problems.append(
                NodeStatus.Problem(
                    code: "discovery-off", severity: .attention, subject: "discovery", text: reason, command: remedy))
        }
        return NodeStatus(
            name: name, id: home.identity.nodeID, version: Node.version, startedAt: startedSeconds,
            listening: listening, port: port, discovery: discoveryStatus, databases: databases, peers: peers,
            servers: servers, nearby: nearbyStatus, conflicts: conflicts, problems: problems)
    }

    /// The nodes that are seen and not trusted, and those that ask to pair.
    private var nearbyStatus: [NodeStatus.NearbyNode] {
        // Who is revoked is no news; who asks to pair all the same is.
        let trusted = Set((home.peerBook.peers + home.peerBook.revokedPeers).map(\.id.short))
        var result = nearby.all.filter { !trusted.contains($0.shortID) }.map {
            NodeStatus.NearbyNode(name: $0.name, id: $0.shortID, address: $0.address)
        }
        for request in pairing.all where request.awaitsAcceptance {
            guard let session = request.session, let name = session.peerName else { continue }
            let id = session.peerID.short
            if let index = result.firstIndex(where: { $0.id == id }) {
                // The name by which it is accepted; discovery may have numbered it.
                result[index].name = name
                result[index].askedAt = request.beganSeconds
            } else {
                result.append(
                    NodeStatus.NearbyNode(
                        name: name, id: id, address: request.address, askedAt: request.beganSeconds))
            }
        }
        return result
    }
}

extension NodeStatus.Problem {
    /// Documents that this node or the other side has refused.
    fileprivate static func refused(_ count: Int, of database: String, by other: String) -> NodeStatus.Problem {
        NodeStatus.Problem(
            code: "refused", severity: .attention, subject: other,
            text: count == 1
                ? "1 document of \(database) was refused" : "\(count) documents of \(database) were refused",
            command: "kith status \(database)")
    }
}
