import KithDocuments
import KithReplication
import KithStore

// What must hold at the end.

extension Simulation {
    func check() throws {
        report.seconds = seconds
        let digests = try nodes.map(digests)
        let meshes = twoWayMeshes()
        for (node, digest) in zip(nodes, digests) where digest != digests[meshes[node.index]] {
            fail(
                "node \(node.index) differs from node \(meshes[node.index]): \(try difference(node, nodes[meshes[node.index]]))"
            )
        }
        try checkWhatMayTravel()
        for client in clients { try check(client) }
        if !onceLinks.isEmpty { fail("links \(onceLinks) were to be once, and are still open") }
        let isOneMesh = Set(meshes).count == 1
        report.conflicts = digests[0].values.reduce(0) { $0 + $1.conflicts }
        // Behind every lease, also of one that a wrong clock has given.
        for node in nodes { node.clockErrorMilliseconds += 2_000_000_000 }
        let ids = Set(acknowledged.map(\.id)).sorted()
        // Who merges keeps them, and a copy of a database has them too.
        let keepsOldBodies = nodes.contains { $0.merges }
        let acknowledged = acknowledged.filter { !purged.contains($0.id) && !excused.contains($0) }
        for node in nodes {
            for fault in try files.faults(
                of: ids.map { (collection(of: $0), $0) }, on: node.database, keepsOldBodies: keepsOldBodies)
            {
                fail("node \(node.index): \(fault)")
            }
        }
        report.attachments = try ids.reduce(0) { $0 + (try document($1, on: nodes[0])?.attachments.count ?? 0) }
        let lookupsOfNodes = try nodes.map { node in
            try lookup(acknowledged.map { ($0.id, $0.revision) }, on: node)
        }
        for (node, lookups) in zip(nodes, lookupsOfNodes) where configuration.revisionsLimits.isEmpty && isOneMesh {
            for (name, lookup) in zip(acknowledged, lookups) {
                if case .missing = lookup {
                    fail(
                        "node \(node.index) lacks \(name.id) \(name.revision), which was acknowledged")
                }
            }
        }
        // Where histories are cut short, a node need not know what was superseded before it got the document; but what no
        // node knows is lost. The digests say that the leaves are the same.
        for (index, name) in acknowledged.enumerated() {
            let isLost = lookupsOfNodes.allSatisfy { lookups in
                if case .missing = lookups[index] { true } else { false }
            }
            if isLost { fail("\(name.id) \(name.revision), which was acknowledged, is lost") }
        }
        for (index, pair) in pairs.enumerated() {
            guard let id = pair.link else {
                fail("pair \(index) has no link")
                continue
            }
            for end in 0..<2 {
                guard let session = links[id].ends[end].session else {
                    fail("node \(links[id].ends[end].node) has lost link \(id)")
                    continue
                }
                let status = session.status
                if status.state != .idle || status.toSend != 0 || status.toReceive != 0 {
                    fail(
                        "node \(links[id].ends[end].node) is \(status.state) on link \(id): to send \(status.toSend.map(String.init) ?? "unknown"), to receive \(status.toReceive.map(String.init) ?? "unknown")"
                    )
                }
                if status.refusals > 0 { fail("link \(id) refused \(status.refusals) documents") }
            }
        }
        if !queue.isEmpty {
            fail("the mesh is not silent \(configuration.settleSeconds) s after the last fault")
        }
        // Each acknowledged write crosses each pair once as an announcement, an answer, a revision in a few frames and
        // its answer; each link has a set-up and checkpoints. Far above that, messages feed on each other.
        let bound = 400 * links.count + 120 * (pairs.count + clients.count) * (report.acknowledged + 1)
        if report.frames > bound { fail("\(report.frames) frames, more than \(bound)") }
    }

    /// For each node the first of those with which it is linked both ways, by others if need be.
    private func twoWayMeshes() -> [Int] {
        var meshes = Array(nodes.indices)
        for _ in nodes.indices {
            for pair in pairs
            where pair.filters == [nil, nil] && pair.directions[0].intersection(pair.directions[1].reversed) == .both {
                let first = min(meshes[pair.active], meshes[pair.passive])
                (meshes[pair.active], meshes[pair.passive]) = (first, first)
            }
        }
        return meshes
    }

    /// Over each link, in each direction that is on, all that the one has is known to the other.
    private func checkWhatMayTravel() throws {
        for pair in pairs {
            let flows = pair.directions[0].intersection(pair.directions[1].reversed)
            for (from, to, isOn, filter) in [
                (pair.active, pair.passive, flows.contains(.send), pair.filters[0]),
                (pair.passive, pair.active, flows.contains(.receive), pair.filters[1]),
            ] where isOn {
                let names = try collections.flatMap { collection -> [(DocumentID, RevisionID)] in
                    try self.names(of: nodes[from], in: collection, since: 0, through: .max, filter)
                }
                let lookups = try lookup(names, on: nodes[to])
                for (name, lookup) in zip(names, lookups) where !purged.contains(name.0) {
                    if case .missing = lookup { fail("node \(to) lacks \(name.0) \(name.1) of node \(from)") }
                }
            }
        }
    }

    /// What each collection holds that has something in it.
    private func digests(_ node: SimulatedNode) throws -> [CollectionName: DatabaseDigest] {
        try node.database.read { snapshot in
            var result: [CollectionName: DatabaseDigest] = [:]
            for name in try snapshot.collections() {
                let digest = try snapshot.collection(name).digest()
                if digest.leafRevisions > 0 { result[name] = digest }
            }
            return result
        }
    }

    /// The first document that is not on a node as it is on another.
    private func difference(_ node: SimulatedNode, _ first: SimulatedNode) throws -> String {
        for id in Set(acknowledged.map(\.id)).sorted() {
            let leaves = try [first, node].map { node in
                try document(id, on: node)?.leaves.map { "\($0.revision)" }
            }
            if leaves[0] != leaves[1] {
                return
                    "\(id) is \(leaves[1]?.description ?? "not there") and not \(leaves[0]?.description ?? "missing")"
            }
        }
        return "a body or an attachment"
    }
}
