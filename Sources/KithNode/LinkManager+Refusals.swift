import KithDocuments
import KithReplication
import KithStore
import KithTransport
import KithTrust

/// Keeps what was refused, until it is taken after all or is about nothing any more.
extension LinkManager {
    /// Reads what the database has kept.
    func loadRefusals(_ slot: LinkSlot) {
        guard let database = registry.find(slot.key.database) else { return }
        let peer = slot.key.peer.description
        Task { @LoopActor in
            let kept = try? await database.read { snapshot in
                let all = try snapshot.refusals(peer: peer, limit: NodeLimits.refusalsRememberedMax)
                return (all, try snapshot.obsolete(all))
            }
            slot.hasLoadedRefusals = true
            if let (all, obsolete) = kept {
                for refusal in all where slot.refusals[refusal.key] == nil { slot.refusals[refusal.key] = refusal }
                forget(obsolete, slot)
            }
            for link in slot.links + slot.oneShots { tellRefused(slot, link) }
            let waiting = slot.waitsForRefusals
            slot.waitsForRefusals = []
            for wake in waiting { wake() }
            onChange?()
        }
    }

    /// Tells a new link what was refused before, and has offered once more what is due for it: the cause may be gone, since
    /// one side has just come back. Where somebody asks for a replication, all of it is due.
    func tellRefused(_ slot: LinkSlot, _ link: PeerLink) {
        // Each link of the pair itself finds out anew which collections are replicated.
        if !link.isOneShot { forget(slot.refusals.keys.filter { $0.id == ReplicationRefusal.wholeCollection }, slot) }
        guard !slot.refusals.isEmpty else { return }
        var ids: [CollectionName: [DocumentID]] = [:]
        var retrying: [CollectionName: [DocumentID]] = [:]
        let now = WallClock.seconds
        for refusal in slot.refusals.values {
            guard let id = try? DocumentID(refusal.key.id) else { continue }
            let wait = min(
                NodeLimits.refusalRetrySecondsMax,
                NodeLimits.refusalRetrySecondsMin << Int64(min(max(refusal.attempts - 1, 0), 20)))
            // A clock that was set back is no reason to wait longer.
            let isDue = link.isOneShot || now >= refusal.wallSeconds + wait || now < refusal.wallSeconds
            if refusal.key.isOutgoing, isDue {
                retrying[refusal.key.collection, default: []].append(id)
            } else {
                ids[refusal.key.collection, default: []].append(id)
            }
        }
        link.noteRefused(ids, retrying: retrying)
    }

    /// Keeps what was refused on a link, and forgets what was taken after all.
    func noteRefusals(_ slot: LinkSlot, _ refusals: [ReplicationRefusal], _ taken: [ReplicationAcceptance]) {
        let peer = slot.key.peer
        var noted: [DocumentRefusal] = []
        for refusal in refusals {
            let key = DocumentRefusal.Key(
                peer: peer.description, collection: refusal.collection, id: refusal.id, isOutgoing: refusal.isOutgoing)
            let known = slot.refusals[key]
            let isAgain = known.map { $0.revision.utf8.elementsEqual(refusal.revision.utf8) } ?? false
            let one = DocumentRefusal(
                key: key, revision: refusal.revision, isByPeer: refusal.side == .peer, code: refusal.code,
                reason: refusal.reason, wallSeconds: refusal.wallSeconds,
                attempts: isAgain ? (known?.attempts ?? 0) + 1 : 1)
            noted.append(one)
            if known != nil || slot.refusals.count < NodeLimits.refusalsRememberedMax { slot.refusals[key] = one }
            let who = refusal.side == .here ? "refused here" : "refused by the peer"
            log(
                "\(name(peer))  \(slot.key.database)  \(refusal.id) \(refusal.revision) \(who): \(refusal.code) \(refusal.reason)"
            )
        }
        if !noted.isEmpty { write(slot) { [noted] in try $0.noteRefusals(noted) } }
        let done = taken.compactMap { acceptance -> DocumentRefusal.Key? in
            let key = DocumentRefusal.Key(
                peer: peer.description, collection: acceptance.collection, id: acceptance.name.id.text,
                isOutgoing: acceptance.isOutgoing)
            let revision = acceptance.name.revision.description
            // Another leaf of the document says nothing about this one.
            guard let known = slot.refusals[key], known.revision.utf8.elementsEqual(revision.utf8) else { return nil }
            return key
        }
        forget(done, slot)
        onChange?()
    }

    /// Looks soon which refusals are about nothing any more, since documents have changed.
    func lookAtRefusals(_ slot: LinkSlot) {
        guard !slot.refusals.isEmpty, slot.refusalTimer == nil else { return }
        slot.refusalTimer = EventLoop.shared.schedule(afterSeconds: NodeLimits.refusalLookSeconds) {
            [weak self, weak slot] in
            guard let self, let slot else { return }
            let refusals = Array(slot.refusals.values)
            guard let database = registry.find(slot.key.database) else { return }
            Task { @LoopActor in
                let obsolete = try? await database.read { try $0.obsolete(refusals) }
                slot.refusalTimer = nil
                // What was refused anew meanwhile is about another revision.
                let kept = refusals.filter { slot.refusals[$0.key] == $0 }.map(\.key)
                self.forget((obsolete ?? []).filter { kept.contains($0) }, slot)
            }
        }
    }

    /// How many documents stand refused of what was asked for, as far as that is known for a replication that is done.
    func countRefused(_ request: OneShotRequest, _ slot: LinkSlot, then use: @escaping (Int) -> Void) {
        let refusals = slot.refusals.values.filter { refusal in
            let key = refusal.key
            guard key.id != ReplicationRefusal.wholeCollection,
                request.directions.contains(key.isOutgoing ? .send : .receive)
            else { return false }
            guard let documentIDs = request.documentIDs else { return true }
            return (try? DocumentID(key.id)).map(documentIDs.contains) ?? false
        }
        guard !refusals.isEmpty, let database = registry.find(slot.key.database) else { return use(0) }
        Task { @LoopActor in
            let obsolete = Set((try? await database.read { try $0.obsolete(refusals) }) ?? [])
            use(refusals.count { !obsolete.contains($0.key) })
        }
    }

    /// Forgets all of a peer that is no longer trusted.
    func forgetRefusals(of peer: NodeID, in database: OpenDatabase) {
        let text = peer.description
        write(database) { try $0.forgetRefusals(ofPeer: text) }
    }

    private func forget(_ keys: [DocumentRefusal.Key], _ slot: LinkSlot) {
        guard !keys.isEmpty else { return }
        for key in keys { slot.refusals[key] = nil }
        write(slot) { try $0.forgetRefusals(keys) }
        onChange?()
    }

    private func write(_ slot: LinkSlot, _ body: @escaping @Sendable (WriteTransaction) throws -> Void) {
        guard let database = registry.find(slot.key.database) else { return }
        write(database, body)
    }

    private func write(_ database: OpenDatabase, _ body: @escaping @Sendable (WriteTransaction) throws -> Void) {
        let (log, name) = (log, database.name)
        database.database.submitWrite(body) { result in
            guard case .failure(let error) = result, (error as? KithError)?.code != .closed else { return }
            EventLoop.shared.post {
                log("database \(name) cannot keep what was refused: \(error)", key: "refusals \(name)")
            }
        }
    }
}
