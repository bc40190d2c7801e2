import KithDocuments
import KithTrust

extension LinkManager {
    /// How a peer stands, over all its databases: in sync only when every one that both have is.
    func status(of peer: Peer) -> NodeStatus.PeerStatus {
        let slots = slots(of: peer.id)
        // A database that the peer does not have is nothing that it could be behind with.
        let isConnected = slots.contains { $0.link != nil }
        let databases = slots.map { status($0, isShared: isShared($0, peerIsConnected: isConnected)) }
        let shared = zip(slots, databases).filter { isShared($0.0, peerIsConnected: isConnected) }
        let states = shared.map(\.1.state)
        let linked = slots.filter { $0.link != nil }
        let unlinked = shared.map(\.0).filter { $0.link == nil }
        let state: NodeStatus.PeerState =
            if linked.isEmpty {
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
            toSend: Self.sum(shared.map(\.1.toSend)), toReceive: Self.sum(shared.map(\.1.toReceive)),
            lastInSyncAt: shared.compactMap(\.1.lastInSyncAt).min(), address: linked.first?.link?.address,
            tls: linked.first?.link?.tlsVersion, problem: unlinked.compactMap(\.lastErrorCode).first?.name,
            databases: databases)
    }

    /// What stops replication with a peer until somebody does something about it.
    func problems(of peer: Peer) -> [NodeStatus.Problem] {
        slots(of: peer.id).compactMap { slot in
            guard slot.link == nil, let code = slot.lastErrorCode, let text = slot.lastError else { return nil }
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

    /// Whether the peer has the database too, as far as is known. It has said so, or it is connected for others and has
    /// had the time to ask for this one as well: each side dials for whatever both have.
    private func isShared(_ slot: LinkSlot, peerIsConnected: Bool) -> Bool {
        if slot.link != nil { return true }
        if slot.isAbsentThere { return false }
        return !peerIsConnected || slot.lastError != nil
            || WallClock.seconds - slot.sinceSeconds < NodeLimits.sharingSecondsMax
    }

    private func status(_ slot: LinkSlot, isShared: Bool) -> NodeStatus.SharedDatabase {
        let link = slot.link
        let state: NodeStatus.PeerState =
            switch link?.status.state {
            case .idle?: .inSync
            case .busy?: .syncing
            case .connecting?: .connecting
            case nil: slot.lastErrorCode == .notTrusted || slot.lastErrorCode == .wrongKey ? .blocked : .offline
            }
        return NodeStatus.SharedDatabase(
            name: slot.key.database.text, state: state,
            toSend: !isShared ? nil : link == nil ? slot.waiting : link?.status.toSend,
            toReceive: link?.status.toReceive, completed: link?.status.completed ?? 0, total: link?.status.total ?? 0,
            refused: slot.refusals.count, lastError: slot.lastError, lastErrorAt: slot.lastErrorSeconds,
            lastInSyncAt: state == .inSync ? WallClock.seconds : slot.lastInSyncSeconds)
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
