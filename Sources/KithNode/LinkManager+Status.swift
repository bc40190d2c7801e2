import KithDocuments
import KithReplication
import KithTrust

extension LinkManager {
    /// How a peer stands, over all its databases: in sync only when every one that both have is.
    func status(of peer: Peer) -> NodeStatus.PeerStatus {
        let slots = slots(of: peer.id)
        // A database that the peer does not have is nothing that it could be behind with.
        let isConnected = slots.contains { $0.isLinked }
        let databases = slots.map { status($0, isShared: isShared($0, peerIsConnected: isConnected)) }
        let shared = zip(slots, databases).filter { isShared($0.0, peerIsConnected: isConnected) }
        // What is replicated when somebody asks for it says nothing of whether the peer is there.
        let followed = shared.filter { $0.1.state != .onDemand }
        let states = followed.map(\.1.state)
        let linked = slots.filter(\.isLinked)
        let unlinked = followed.map(\.0).filter { !$0.isLinked }
        let counted = followed.isEmpty ? shared : followed
        let state: NodeStatus.PeerState =
            if slots.isEmpty, !registry.all.isEmpty {
                .notShared
            } else if followed.isEmpty, !shared.isEmpty {
                .onDemand
            } else if linked.isEmpty {
                // Whoever answers "no such database" is there.
                states.contains(.blocked) ? .blocked : shared.isEmpty && !slots.isEmpty ? .connecting : .offline
            } else if states.contains(.syncing) {
                .syncing
            } else {
                states.allSatisfy { $0 == .inSync } ? .inSync : .connecting
            }
        return NodeStatus.PeerStatus(
            name: peer.name, id: peer.id, state: state,
            since: (linked.isEmpty ? slots : linked).map(\.sinceSeconds).max(),
            toSend: Self.sum(counted.map(\.1.toSend)), toReceive: Self.sum(counted.map(\.1.toReceive)),
            lastInSyncAt: counted.compactMap(\.1.lastInSyncAt).min(), address: linked.first?.links.first?.address,
            tls: linked.first?.links.first?.tlsVersion, problem: unlinked.compactMap(\.lastErrorCode).first?.name,
            databases: databases)
    }

    /// Whether there is a link with a peer.
    func isConnected(_ peer: NodeID) -> Bool { slots(of: peer).contains { $0.isLinked } }

    /// When a peer was last heard, in seconds since 1970, as far as is known: now, or on the last link, or when both last had
    /// the same.
    func lastSeen(_ peer: NodeID) -> Int64? {
        slots(of: peer).flatMap { slot in
            slot.links.map { Optional($0.lastHeardWallSeconds) } + [slot.lastHeardSeconds, slot.lastInSyncSeconds]
        }.compactMap { $0 }.max()
    }

    /// What stops replication with a peer until somebody does something about it.
    func problems(of peer: Peer) -> [NodeStatus.Problem] {
        slots(of: peer.id).compactMap { slot in
            guard !slot.isLinked, let code = slot.lastErrorCode, let text = slot.lastError else { return nil }
            let subject = "\(peer.name), \(slot.key.database)"
            switch code {
            case .diskFull, .damaged, .inputOutput, .homeNotWritable, .internal:
                return NodeStatus.Problem(code: code.name, severity: .error, subject: subject, text: text, command: nil)
            case .notTrusted, .wrongKey:
                return NodeStatus.Problem(
                    code: code.name, severity: .attention, subject: subject, text: text,
                    command: "kith trust \(ownID)   (on \(peer.name))")
            default: return nil
            }
        }
    }

    /// Up to which sequence everything of a collection is at a peer, as far as its link knows, or knew when there was one.
    ///
    /// - Returns: `through`: that sequence, `nil` when only what was saved says it; and what of the changes behind it came from the peer.
    func sentThrough(
        to peer: NodeID, _ database: DatabaseName, _ collection: CollectionName
    ) -> (through: UInt64?, received: SequenceRanges?) {
        guard let slot = slot(LinkKey(peer: peer, database: database)) else { return (nil, nil) }
        if let through = slot.links.compactMap({ $0.status.sentThrough[collection] }).max() { return (through, nil) }
        return (slot.sentThrough[collection], slot.received[collection])
    }

    /// Whether there is a link, and whether the peer has the database, as far as is known.
    func isLinked(to peer: NodeID, _ database: DatabaseName) -> (isLinked: Bool, isShared: Bool) {
        let key = LinkKey(peer: peer, database: database)
        guard let slot = slot(key) else { return (false, access(key) != .noAccess) }
        return (slot.isLinked, isShared(slot, peerIsConnected: slots(of: peer).contains { $0.isLinked }))
    }

    /// Whether changes may go to a peer, as far as is known.
    func isSent(to peer: NodeID, _ database: DatabaseName) -> Bool {
        slot(LinkKey(peer: peer, database: database)).map { directions($0).contains(.send) } ?? false
    }

    /// Whether the peer has the database too, as far as is known. It has said so, or it is connected for others and has
    /// had the time to ask for this one as well: each side dials for whatever both have.
    private func isShared(_ slot: LinkSlot, peerIsConnected: Bool) -> Bool {
        if slot.isLinked { return true }
        if slot.isAbsentThere { return false }
        return slot.isOnDemandThere || slot.isOnDemand || !peerIsConnected || slot.lastError != nil
            || WallClock.seconds - slot.sinceSeconds < NodeLimits.sharingSecondsMax
    }

    /// What may travel, as far as is known: what is allowed here, less what the peer has said of itself.
    func directions(_ slot: LinkSlot) -> ReplicationDirections {
        let known = slot.link?.status.directions ?? (slot.clients.isEmpty ? slot.directions : .both)
        return access(slot.key).directions.intersection(known)
    }

    private func status(_ slot: LinkSlot, isShared: Bool) -> NodeStatus.SharedDatabase {
        let links = slot.links.map(\.status)
        let states = links.map(\.state)
        let state: NodeStatus.PeerState =
            if links.isEmpty, slot.isOnDemandThere || slot.isOnDemand {
                .onDemand
            } else if links.isEmpty {
                slot.lastErrorCode == .notTrusted || slot.lastErrorCode == .wrongKey ? .blocked : .offline
            } else if states.contains(.busy) {
                .syncing
            } else {
                states.contains(.connecting) ? .connecting : .inSync
            }
        let directions = directions(slot)
        return NodeStatus.SharedDatabase(
            name: slot.key.database.text, state: state,
            access: access(slot.key), directions: directions,
            toSend: !directions.contains(.send)
                ? 0 : !isShared ? nil : links.isEmpty ? slot.waiting : Self.known(links.map(\.toSend)),
            toReceive: !directions.contains(.receive) ? 0 : Self.known(links.map(\.toReceive)),
            completed: links.reduce(0) { $0 + $1.completed },
            total: links.reduce(0) { $0 + $1.total },
            refused: slot.refusals.count,
            refusals: Array(
                slot.refusals.values.sorted { $0.wallSeconds > $1.wallSeconds }.prefix(NodeLimits.refusalsListedMax)),
            lastError: slot.lastError, lastErrorAt: slot.lastErrorSeconds,
            lastInSyncAt: state == .inSync ? WallClock.seconds : slot.lastInSyncSeconds)
    }

    /// The sum of what the links of a client know: one may only send and another only receive. `nil` when none knows.
    private static func known(_ parts: [Int?]) -> Int? {
        let known = parts.compactMap { $0 }
        return known.isEmpty ? nil : known.reduce(0, +)
    }

    /// The sum, or `nil` as soon as one part is unknown.
    private static func sum(_ parts: [Int?]) -> Int? {
        var sum = 0
        for part in parts {
            guard let part else { return nil }
            sum += part
        }
        return sum
    }
}
