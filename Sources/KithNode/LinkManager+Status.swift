import KithTrust

extension LinkManager {
    /// How a peer stands, over all its databases.
    func status(of peer: Peer) -> NodeStatus.PeerStatus {
        let slots = slots(of: peer.id)
        let databases = slots.map(status)
        let states = databases.map(\.state)
        let linked = slots.filter { $0.link != nil }
        let state: NodeStatus.PeerState =
            linked.isEmpty
            ? .offline
            : states.contains(.syncing)
                ? .syncing
                : states.contains(.connecting) ? .connecting : .inSync
        return NodeStatus.PeerStatus(
            name: peer.name, id: peer.id, state: state,
            since: (linked.isEmpty ? slots : linked).map(\.sinceSeconds).max(),
            toSend: Self.sum(databases.map(\.toSend)), toReceive: Self.sum(databases.map(\.toReceive)),
            lastInSyncAt: databases.compactMap(\.lastInSyncAt).min(), address: linked.first?.link?.address,
            tls: linked.first?.link?.tlsVersion, problem: databases.compactMap(\.lastError).first, databases: databases)
    }

    private func status(_ slot: LinkSlot) -> NodeStatus.SharedDatabase {
        let link = slot.link
        let state: NodeStatus.PeerState =
            switch link?.status.state {
            case .idle?: .inSync
            case .busy?: .syncing
            case .connecting?: .connecting
            case nil: .offline
            }
        return NodeStatus.SharedDatabase(
            name: slot.key.database.text, state: state, toSend: link == nil ? slot.waiting : link?.status.toSend,
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
