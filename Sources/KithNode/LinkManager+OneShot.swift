import KithDocuments
import KithReplication
import KithTransport
import KithTrust

// Replications that end by themselves, each over a link of its own beside the one that the pair keeps.

extension LinkManager {
    /// Begins one.
    ///
    /// - Throws: `.notFound` when it is no peer, `.databaseNotFound`, `.forbidden` when nothing of what is asked for is allowed here,
    ///   `.connectionLost` when there is no address to try, `.busy` when too many are under way.
    func replicateOnce(_ request: OneShotRequest) throws(KithError) -> OneShotReplication {
        let replication = OneShotReplication(request)
        guard !isStopped else { throw KithError(.closed, "the node is stopping") }
        guard let peer = book.peer(request.peer) else {
            throw KithError(.notFound, "\(request.peer.short) is not a peer", remedy: "See the peers: kith peers")
        }
        let database = try registry.database(request.database)
        let allowed = access(replication.key).directions.intersection(request.directions)
        guard !allowed.isEmpty else {
            throw KithError(
                .forbidden,
                "nothing of \(request.database) may travel so: \(peer.name) \(Self.may(access(replication.key)))",
                remedy: "Allow it: kith peers set \(peer.name) access=both --database \(request.database)")
        }
        guard oneShots.count(where: { $0.key == replication.key }) < NodeLimits.oneShotLinksMax else {
            throw KithError(
                .busy,
                "\(NodeLimits.oneShotLinksMax) replications of \(request.database) with \(peer.name) are under way")
        }
        let candidates = addresses.candidates(for: request.peer)
        guard !candidates.isEmpty else { return try follow(replication, peer) }
        keep(replication)
        let dial = LinkDialler(
            peer: request.peer, database: request.database, isOneShot: true, addresses: candidates, client: client
        ) { [weak self, weak replication] outcome in
            guard let self, let replication else { return }
            replication.dial = nil
            opened(replication, outcome, database, allowed)
        }
        dial.onOther = { [weak self] id, address in self?.answered(id, at: address) }
        replication.dial = dial
        dial.start()
        return replication
    }

    /// Where only the peer can open links, the one that it has opened does it, if everything is to be replicated.
    private func follow(_ replication: OneShotReplication, _ peer: Peer) throws(KithError) -> OneShotReplication {
        guard let link = slot(replication.key)?.link, replication.request.documentIDs == nil else {
            throw KithError(
                .connectionLost, "\(peer.name) is offline: no address of it is known",
                remedy: "Start kith up there, or type kith sync there")
        }
        keep(replication)
        replication.followed = link
        followedChanged(link)
        return replication
    }

    /// The pair's link has changed: whoever follows it may have what was asked for.
    func followedChanged(_ link: PeerLink) {
        for replication in oneShots where replication.followed === link {
            let status = link.status
            replication.note(status)
            let directions = replication.request.directions
            let isSent = !directions.contains(.send) || status.toSend == 0
            let isReceived = !directions.contains(.receive) || status.toReceive == 0
            guard isSent, isReceived, status.state != .connecting else { continue }
            replication.finish(
                status.directions.isDisjoint(with: directions)
                    ? .failure(Self.nothingTravels(replication, name(link.key.peer))) : .success(status))
        }
    }

    /// The pair's link has ended.
    func followedEnded(_ link: PeerLink, _ error: KithError) {
        for replication in oneShots where replication.followed === link {
            replication.finish(.failure(Self.lost(error, name(link.key.peer))))
        }
    }

    private func keep(_ replication: OneShotReplication) {
        oneShots.append(replication)
        replication.onFinish = { [weak self, weak replication] in
            self?.oneShots.removeAll { $0 === replication }
        }
    }

    private func opened(
        _ replication: OneShotReplication, _ outcome: LinkDialler.Outcome, _ database: OpenDatabase,
        _ directions: ReplicationDirections
    ) {
        let key = replication.key
        switch outcome {
        case .failed(let error, _):
            replication.finish(.failure(Self.explained(error, name(key.peer), key.database)))
        case .connected(let opened):
            answered(key.peer, at: opened.address)
            guard replication.result == nil, !isStopped, let slot = slot(key), !database.isClosed else {
                opened.connection.abort()
                return replication.finish(.failure(KithError(.closed, "the database is not shared any more")))
            }
            let link = PeerLink(
                role: .active, connection: opened.connection, address: opened.address.description,
                tlsVersion: opened.tlsVersion, remainder: opened.remainder, peerIsKith: opened.peerIsKith, ownID: ownID,
                key: key, database: database, directions: directions, isOneShot: true,
                documentIDs: replication.request.documentIDs, filter: filter(key))
            replication.link = link
            takeOneShot(link, slot, replication)
        }
    }

    /// What the peer has answered, with who it was.
    private static func explained(_ error: KithError, _ peer: String, _ database: DatabaseName) -> KithError {
        switch error.code {
        case .databaseNotFound:
            KithError(
                .databaseNotFound, "\(peer) has no database \"\(database)\", or does not share it with this node",
                remedy: "There: kith db list, kith peers")
        case .connectionLost, .timedOut:
            KithError(
                error.code, "\(peer) is not reached: \(error.message)", remedy: "Is it on? kith status", cause: error)
        default: KithError(error.code, "\(peer): \(error.message)", remedy: error.remedy, cause: error)
        }
    }

    /// Takes a link that is beside the one of the pair, opened by either side.
    ///
    /// - Parameter replication: what it was opened for, when it was opened here.
    func takeOneShot(_ link: PeerLink, _ slot: LinkSlot, _ replication: OneShotReplication? = nil) {
        slot.oneShots.append(link)
        let what = link.role == .active ? "replicates once with" : "is asked to replicate once by"
        log("\(name(slot.key.peer))  \(slot.key.database)  \(what) \(link.address)")
        link.onChange = { [weak self, weak link] in
            guard let self, let link else { return }
            replication?.note(link.status)
            onChange?()
        }
        link.onRefusals = { [weak self, weak slot] refusals, taken in
            guard let self, let slot else { return }
            noteRefusals(slot, refusals, taken)
        }
        link.onEnd = { [weak self, weak slot, weak link] error in
            guard let self, let slot, let link else { return }
            slot.oneShots.removeAll { $0 === link }
            let status = link.status
            slot.sentThrough.merge(status.sentThrough) { max($0, $1) }
            if replication?.request.directions == .both { slot.directions = status.directions }
            if status.isComplete, replication?.request.documentIDs == nil, status.directions == .both {
                slot.lastInSyncSeconds = WallClock.seconds
            }
            log(
                "\(name(slot.key.peer))  \(slot.key.database)  replicated once: \(status.revisionsSent) sent, \(status.revisionsReceived) received, \(status.refusals) refused; \(error.message)"
            )
            if !slot.isLinked { count(slot) }
            if let replication {
                replication.finish(Self.result(replication, status, error, name(slot.key.peer)))
            }
            onChange?()
        }
        link.start()
        if slot.hasLoadedRefusals, replication?.request.documentIDs == nil { tellRefused(slot, link) }
    }

    private static func result(
        _ replication: OneShotReplication, _ status: ReplicationStatus, _ error: KithError, _ peer: String
    ) -> Result<ReplicationStatus, KithError> {
        guard status.isComplete else { return .failure(lost(error, peer)) }
        // One of two directions that is off is told with the result; none of what was asked for is an error.
        return status.directions.isDisjoint(with: replication.request.directions)
            ? .failure(nothingTravels(replication, peer)) : .success(status)
    }

    private static func nothingTravels(_ replication: OneShotReplication, _ peer: String) -> KithError {
        let database = replication.key.database
        let what =
            switch replication.request.directions {
            case .send: "takes no changes of \(database)"
            case .receive: "gives no changes of \(database)"
            default: "neither takes nor gives changes of \(database)"
            }
        return KithError(
            .forbidden, "\(peer) \(what)",
            remedy: "There: kith peers set THIS-NODE access=both --database \(database)")
    }

    private static func lost(_ error: KithError, _ peer: String) -> KithError {
        KithError(
            error.code == .closed ? .connectionLost : error.code,
            "the link with \(peer) ended before everything had travelled: \(error.message)")
    }

    private static func may(_ access: PeerAccess) -> String {
        switch access {
        case .both: "may read and write"
        case .read: "may only read"
        case .write: "may only write"
        case .noAccess: "may do nothing with it"
        }
    }
}
