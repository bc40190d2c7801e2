import KithDocuments
import KithReplication
import KithStore
import KithTransport

// How much a peer that is away is known to have, and what waits for it.

extension LinkManager {
    /// Takes what a link that has ended knew of what the peer has, and counts what waits for it.
    func keepProgress(_ slot: LinkSlot, _ link: PeerLink) {
        // What the last link knew is newer than what was saved, also when it is less: the peer may have begun anew.
        for (collection, sequence) in link.status.sentThrough {
            slot.sentThrough[collection] = sequence
            slot.received[collection] = nil
        }
        let received = link.received.filter { link.status.sentThrough[$0.key] == nil }
        guard !received.isEmpty, let database = registry.find(slot.key.database) else {
            if !slot.isLinked { count(slot) }
            return
        }
        let name = PeerLink.progressName(slot.key.peer)
        let filterTag = filter(slot.key)?.tag
        let (through, known) = (slot.sentThrough, slot.received)
        database.database.submitWrite { transaction in
            var kept: [CollectionName: SequenceRanges] = [:]
            for (collection, changes) in received {
                // One that was dropped meanwhile has nothing to be sent.
                guard let transaction = try? transaction.collection(collection) else { continue }
                let saved = try transaction.localDocument(name).flatMap(PeerProgress.init(parsing:))
                // What went through another filter says nothing of this one, and is soon written anew.
                if let saved, saved.filterTag != filterTag { continue }
                var progress = saved ?? PeerProgress(sentThrough: 0, lastInSyncWallSeconds: nil, filterTag: filterTag)
                if let through = through[collection] {
                    progress.sentThrough = through
                    progress.received = known[collection] ?? SequenceRanges()
                }
                progress.received = changes.sequences(through: progress.sentThrough, known: progress.received)
                kept[collection] = progress.received
                try transaction.setLocalDocument(name, progress.document(name: name).body)
            }
            return kept
        } completion: { [weak self, weak slot] result in
            EventLoop.shared.post {
                guard let self, let slot else { return }
                // Without it more is said to wait than does, until a link looks.
                for (collection, ranges) in (try? result.get()) ?? [:]
                where slot.sentThrough[collection] == through[collection] {
                    slot.received[collection] = ranges
                }
                if !slot.isLinked { self.count(slot) }
            }
        }
    }

    /// Reads how much the absent peer is known to have, and counts what waits for it.
    func count(_ slot: LinkSlot) {
        guard !slot.isCounting, let database = registry.find(slot.key.database) else { return }
        slot.isCounting = true
        let name = PeerLink.progressName(slot.key.peer)
        let sequences = database.lastSequences
        let (through, received) = (slot.sentThrough, slot.received)
        let filterTag = filter(slot.key)?.tag
        Task { @LoopActor in
            let answer = try? await database.read { snapshot -> (inSync: Int64?, waiting: Int?) in
                var (inSync, waiting): (Int64?, Int?) = (nil, 0)
                for collection in try snapshot.collections() {
                    let snapshot = try snapshot.collection(collection)
                    let saved = try snapshot.localDocument(name).flatMap(PeerProgress.init(parsing:))
                    if let progress = Self.progress(
                        saved, through[collection], received[collection], filterTag: filterTag)
                    {
                        let count = try progress.pendingCount(snapshot)
                        waiting = waiting.map { $0 + count }
                    } else {
                        waiting = nil
                    }
                    guard saved == nil || saved?.filterTag == filterTag else { continue }
                    inSync = max(inSync ?? .min, saved?.lastInSyncWallSeconds ?? .min)
                }
                return (inSync == .min ? nil : inSync, waiting)
            }
            slot.isCounting = false
            guard let answer else { return }
            slot.waiting = answer.waiting
            if slot.lastInSyncSeconds == nil { slot.lastInSyncSeconds = answer.inSync }
            onChange?()
            // More came while it was counted.
            let isOld = database.lastSequences != sequences || slot.sentThrough != through || slot.received != received
            if isOld, !slot.isLinked { count(slot) }
        }
    }

    /// How much of a collection a peer is known to have: what a link of this run has told counts for more than what was saved.
    ///
    /// - Returns: `nil` when nothing is known, since what was saved went through another filter.
    nonisolated static func progress(
        _ saved: PeerProgress?, _ through: UInt64?, _ received: SequenceRanges?, filterTag: String?
    ) -> PeerProgress? {
        let isOther = saved != nil && saved?.filterTag != filterTag
        if let through {
            var progress = PeerProgress(sentThrough: through, lastInSyncWallSeconds: nil, filterTag: filterTag)
            progress.received = received ?? SequenceRanges()
            return progress
        }
        if isOther { return nil }
        return saved ?? PeerProgress(sentThrough: 0, lastInSyncWallSeconds: nil, filterTag: filterTag)
    }
}
