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
        guard !candidates.isEmpty else {
            guard follow(replication) else {
                throw KithError(
                    .connectionLost, "\(peer.name) is offline: no address of it is known",
                    remedy: "Start kith up there, or type kith sync there")
            }
            keep(replication)
            return replication
        }
        keep(replication)
        let dial = LinkDialler(
            peer: request.peer, database: request.database, isOneShot: true, addresses: candidates, client: client
        ) { [weak self, weak replication] outcome in
            guard let self, let replication else { return }
            replication.dial = nil
            opened(replication, outcome, database)
        }
        dial.onOther = { [weak self] id, address in self?.answered(id, at: address) }
        replication.dial = dial
        // What was refused before is offered again, so it has to be known.
        if let slot = slot(replication.key), !slot.hasLoadedRefusals {
            slot.waitsForRefusals.append { dial.start() }
        } else {
            dial.start()
        }
        return replication
    }

    /// Where only the peer can open links, the one that it has opened does it, if everything is to be replicated. The peer has to
    /// answer first: a link can be dead without anybody having noticed.
    ///
    /// - Returns: whether there is such a link.
    private func follow(_ replication: OneShotReplication) -> Bool {
        guard let link = slot(replication.key)?.link, let database = registry.find(replication.key.database),
            replication.request.documentIDs == nil
        else { return false }
        replication.followed = FollowedLink(link)
        Task { @LoopActor in
            do {
                let sequences = try await database.readLastSequences()
                // Its link may have ended meanwhile.
                replication.followed?.wait(for: sequences)
                guard let link = replication.followed?.link else { return }
                // What was written a moment ago may not have come to the link's ears yet.
                link.databaseChanged(sequences)
                link.probe()
            } catch {
                replication.finish(
                    .failure((error as? KithError) ?? KithError(.internal, "the database is not read", cause: error)))
            }
        }
        return true
    }

    /// The pair's link has changed: whoever follows it may have what was asked for.
    func followedChanged(_ link: PeerLink) {
        for replication in oneShots {
            guard let followed = replication.followed, followed.link === link else { continue }
            let status = followed.status
            replication.note(status)
            let directions = replication.request.directions
            guard followed.isDone(directions) else { continue }
            replication.followed = nil
            if status.directions.isDisjoint(with: directions) {
                replication.finish(.failure(Self.nothingTravels(replication, name(link.key.peer))))
            } else {
                finish(replication, status)
            }
        }
    }

    /// Ends one with all that was asked for done, but for what stands refused.
    private func finish(_ replication: OneShotReplication, _ status: ReplicationStatus) {
        guard let slot = slot(replication.key) else { return replication.finish(.success(status)) }
        countRefused(replication.request, slot) { refused in
            var status = status
            status.refusals = max(status.refusals, refused)
            replication.finish(.success(status))
        }
    }

    /// The pair's link has ended.
    func followedEnded(_ link: PeerLink, _ error: KithError) {
        for replication in oneShots where replication.followed?.link === link {
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
        _ replication: OneShotReplication, _ outcome: LinkDialler.Outcome, _ database: OpenDatabase
    ) {
        let key = replication.key
        switch outcome {
        case .failed(let error, _):
            // The peer may have a link to here although none goes there.
            if error.code == .connectionLost || error.code == .timedOut, follow(replication) { return }
            replication.finish(.failure(Self.explained(error, name(key.peer), key.database)))
        case .connected(let opened):
            answered(key.peer, at: opened.address)
            guard replication.result == nil, !isStopped, let slot = slot(key), !database.isClosed else {
                opened.connection.abort()
                return replication.finish(.failure(KithError(.closed, "the database is not shared any more")))
            }
            // What was allowed when it was asked for may not be any more.
            let directions = access(key).directions.intersection(replication.request.directions)
            guard !directions.isEmpty else {
                opened.connection.abort()
                return replication.finish(.failure(Self.sharingWasChanged))
            }
            let link = PeerLink(
                role: .active, connection: opened.connection, address: opened.address.description,
                tlsVersion: opened.tlsVersion, remainder: opened.remainder, peerIsKith: opened.peerIsKith, ownID: ownID,
                key: key, database: database, directions: directions, isOneShot: true,
                pairDirections: access(key).directions, documentIDs: replication.request.documentIDs,
                filter: filter(key))
            replication.link = link
            takeOneShot(link, slot, replication)
        }
    }

    /// Gives up those that have no link yet: what is allowed was changed.
    func giveUpDials(where concerns: (LinkKey) -> Bool) {
        for replication in oneShots where replication.dial != nil && concerns(replication.key) {
            replication.finish(.failure(Self.sharingWasChanged))
        }
    }

    private static var sharingWasChanged: KithError {
        KithError(
            .closed, "how the database is shared was changed", remedy: "Begin it anew; see what is shared: kith peers")
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
            tellRefusals(refusals, slot.key)
        }
        observe(link)
        link.onEnd = { [weak self, weak slot, weak link] error in
            guard let self, let slot, let link else { return }
            slot.oneShots.removeAll { $0 === link }
            let status = link.status
            if replication?.request.directions == .both { slot.directions = status.directions }
            if link.isPairInSync {
                slot.lastInSyncSeconds = WallClock.seconds
            }
            log(
                "\(name(slot.key.peer))  \(slot.key.database)  replicated once: \(status.revisionsSent) sent, \(status.revisionsReceived) received, \(status.refusals) refused; \(error.message)"
            )
            keepProgress(slot, link)
            if let replication {
                ended(replication, status, error)
            }
            onChange?()
        }
        link.start()
        if slot.hasLoadedRefusals { tellRefused(slot, link) }
    }

    private func ended(_ replication: OneShotReplication, _ status: ReplicationStatus, _ error: KithError) {
        let peer = name(replication.key.peer)
        guard status.isComplete else { return replication.finish(.failure(Self.lost(error, peer))) }
        // One of two directions that is off is told with the result; none of what was asked for is an error.
        guard !status.directions.isDisjoint(with: replication.request.directions) else {
            return replication.finish(.failure(Self.nothingTravels(replication, peer)))
        }
        finish(replication, status)
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
