import KithDocuments
import KithReplication
import KithStore
import KithTransport
import KithTrust

/// Keeps one link for each trusted peer and database, whoever opens it.
///
/// What is done about it is decided by a `LinkKeeper` for each, which has the rule; this gives it time, chance and connections. A
/// link never reconnects: when it ends, a new one is dialled after a wait that doubles with each failure, and at once
/// when discovery sees the peer or the network has changed.
@LoopActor
final class LinkManager {
    let ownID: NodeID
    let book: PeerBook
    let registry: DatabaseRegistry
    let log: NodeLog
    /// Shows this node's certificate, and takes the keys of the book.
    var client: TLSContext
    private(set) var addresses: AddressBook
    private var slots: [LinkKey: LinkSlot] = [:]
    private var linkedCount = 0
    private(set) var isStopped = false
    /// Who hears of each document.
    var eventReaders: [EventReader] = []
    /// What an app lets go to peers.
    var filters: [DatabaseName: Filters] = [:]
    /// Replications that end by themselves and were begun here.
    var oneShots: [OneShotReplication] = []
    /// Called when anything that status shows has changed.
    var onChange: (() -> Void)?
    /// Called when there is a link with a Kith node, and there was none before.
    var onLinked: ((NodeID) -> Void)?
    /// Called when the node at an address, which this one has dialled, has something to tell of keys.
    var onNote: ((SocketAddress) -> Void)?
    /// Called when a node that was dialled is not trusted, or does not trust this one: what it has shown, and where.
    var onUntrusted: ((PeerCertificate?, SocketAddress) -> Void)?

    init(
        ownID: NodeID, book: PeerBook, registry: DatabaseRegistry, client: TLSContext, addresses: AddressBook,
        log: NodeLog
    ) {
        self.ownID = ownID
        self.book = book
        self.registry = registry
        self.client = client
        self.addresses = addresses
        self.log = log
    }

    // MARK: What there is to link

    /// Makes the slots that the trusted peers and the open databases ask for, and dials.
    func refresh() {
        guard !isStopped else { return }
        var new: [LinkSlot] = []
        for peer in book.peers {
            for database in registry.all {
                let key = LinkKey(peer: peer.id, database: database.name)
                // For who may do nothing with it there is no such database.
                guard slots[key] == nil, access(key) != .noAccess else { continue }
                let slot = LinkSlot(key: key, leads: ownID < key.peer, isOnDemand: isOnDemand(key))
                slots[key] = slot
                new.append(slot)
                count(slot)
                loadRefusals(slot)
            }
        }
        for slot in new where !slot.isOnDemand {
            slot.keeper.start(moment())
            arm(slot)
        }
        onChange?()
    }

    /// Cuts every link of a peer and forgets it.
    ///
    /// Nothing more goes out on them, also not what waits in their buffers.
    func remove(peer: NodeID) {
        addresses.forget(peer)
        for database in registry.all { forgetRefusals(of: peer, in: database) }
        remove(where: { $0.peer == peer }, end: { $0.cut("no longer trusted") })
    }

    /// Ends every link of a database.
    func remove(database: DatabaseName) {
        remove(where: { $0.database == database }, end: { $0.end(closeCode: 4001, "no longer shared") })
    }

    func remove(where matches: (LinkKey) -> Bool, end: (PeerLink) -> Void) {
        for slot in slots.values where matches(slot.key) {
            slots[slot.key] = nil
            slot.stop()
            for link in slot.links + slot.oneShots { end(link) }
            set(nil, slot)
        }
        onChange?()
    }

    /// Ends everything.
    func stop() {
        isStopped = true
        closeEvents()
        for replication in oneShots { replication.cancel() }
        for slot in slots.values {
            slot.stop()
            for link in slot.links + slot.oneShots { link.end(closeCode: 4001, "the node is stopping") }
        }
    }

    /// Whether links are still being closed.
    var hasLinks: Bool { slots.values.contains { $0.isLinked || !$0.oneShots.isEmpty } }

    /// A node has answered at an address, with its key.
    func answered(_ id: NodeID, at address: SocketAddress) { addresses.note(id, at: address) }

    /// A person has given an address: who could not be reached before may be reached there.
    func configure(_ address: SocketAddress) {
        addresses.configure(address)
        networkChanged()
    }

    /// A person has taken an address back. A link that is there stays.
    func unconfigure(_ address: SocketAddress) { addresses.unconfigure(address) }

    /// Discovery saw a node: its addresses are good now.
    func discovered(shortID: String, addresses found: [SocketAddress]) {
        let hasNew = addresses.add(found, shortID: shortID)
        for slot in slots.values where slot.key.peer.short == shortID && slot.isAwaited {
            perform(slot.keeper.hurry(moment(), isNews: hasNew), slot)
        }
    }

    /// An interface or an address has come: who could not be reached before may be reached now.
    func networkChanged() {
        for slot in slots.values where slot.isAwaited { perform(slot.keeper.hurry(moment(), isNews: true), slot) }
    }

    /// A peer is there, and may take a link that it has refused before.
    func hurry(_ peer: NodeID) {
        for slot in slots.values where slot.key.peer == peer && slot.isAwaited {
            perform(slot.keeper.hurry(moment(), isNews: true), slot)
        }
    }

    /// The database has changed: its links look, and what waits for absent peers is counted anew.
    func databaseChanged(_ database: OpenDatabase, _ lastSequences: [CollectionName: UInt64]) {
        for slot in slots.values where slot.key.database == database.name {
            for link in slot.links + slot.oneShots { link.databaseChanged(lastSequences) }
            if !slot.isLinked { count(slot) }
            lookAtRefusals(slot)
        }
        onChange?()
    }

    /// Asks a peer on a link that it has dialled to dial once more, since there is something to tell of keys.
    func hint(_ peer: NodeID) {
        for slot in slots.values where slot.key.peer == peer {
            if let link = slot.link, link.role == .passive { return link.sendNote() }
        }
    }

    // MARK: Dialling

    private func moment() -> LinkMoment {
        LinkMoment(
            seconds: Self.monotonicSeconds, chance: .random(in: 0...1), unlinkedCount: slots.count - linkedCount)
    }

    private static var monotonicSeconds: Double { Double(EventLoop.monotonicNanoseconds) / 1e9 }

    /// Does what the keeper of a slot wants done, and wakes it when it wants to be woken.
    private func perform(_ actions: [LinkKeeper.Action], _ slot: LinkSlot) {
        for action in actions {
            switch action {
            case .dial: dial(slot)
            case .cancelDial:
                slot.dial?.cancel()
                slot.dial = nil
            case .endLink:
                let old = slot.link
                set(nil, slot)
                old?.end(closeCode: 4001, "a newer link took its place")
            case .probeLink: slot.link?.probe()
            }
        }
        arm(slot)
    }

    private func arm(_ slot: LinkSlot) {
        slot.timer?.cancel()
        slot.timer = nil
        guard !isStopped, slots[slot.key] === slot, let due = slot.keeper.wakeAtSeconds else { return }
        slot.timer = EventLoop.shared.schedule(afterSeconds: due - Self.monotonicSeconds) { [weak self, weak slot] in
            guard let self, let slot, !isStopped, slots[slot.key] === slot else { return }
            perform(slot.keeper.wake(atSeconds: Self.monotonicSeconds), slot)
        }
    }

    private func set(_ link: PeerLink?, _ slot: LinkSlot) {
        linkedCount += (link == nil ? 0 : 1) - (slot.link == nil ? 0 : 1)
        slot.link = link
    }

    private func dial(_ slot: LinkSlot) {
        let candidates = addresses.candidates(for: slot.key.peer)
        // Without an address there is nothing to try: discovery will call.
        guard !candidates.isEmpty else { return slot.keeper.dialFailed(.noAddress, moment()) }
        let dial = LinkDialler(
            peer: slot.key.peer, database: slot.key.database, addresses: candidates, client: client
        ) { [weak self, weak slot] outcome in
            guard let self, let slot else { return }
            dialled(slot, outcome)
        }
        dial.onOther = { [weak self] id, address in self?.addresses.note(id, at: address) }
        dial.onAnswered = { [weak slot] in slot?.keeper.dialAnswered($0) }
        dial.onUntrusted = { [weak self] in self?.onUntrusted?($0, $1) }
        slot.dial = dial
        dial.start()
    }

    private func dialled(_ slot: LinkSlot, _ outcome: LinkDialler.Outcome) {
        slot.dial = nil
        switch outcome {
        case .connected(let opened):
            addresses.note(slot.key.peer, at: opened.address)
            guard !isStopped, slots[slot.key] === slot, let database = registry.find(slot.key.database),
                slot.keeper.dialOpened(atSeconds: Self.monotonicSeconds)
            else { return opened.connection.abort() }
            let link = PeerLink(
                role: .active, connection: opened.connection, address: opened.address.description,
                tlsVersion: opened.tlsVersion, remainder: opened.remainder, peerIsKith: opened.peerIsKith,
                ownID: ownID, key: slot.key, database: database, directions: access(slot.key).directions,
                filter: filter(slot.key))
            link.onNote = { [weak self] in self?.onNote?(opened.address) }
            take(link, slot)
        case .failed(let error, let isQuiet):
            // A refusal because a link is there or on its way is no error of the peer's.
            if error.code != .conflict, error.code != .forbidden { slot.noteError(error.message, error.code) }
            slot.isAbsentThere = error.code == .databaseNotFound
            slot.isOnDemandThere = error.code == .forbidden
            if !isQuiet {
                log(
                    "\(name(slot.key.peer))  \(slot.key.database)  not reached: \(error.message)",
                    key: "\(slot.key) \(error.code)")
            }
            slot.keeper.dialFailed(error.code == .conflict ? .crossed : .failed, moment())
            arm(slot)
            onChange?()
        }
    }

    // MARK: Being dialled

    /// Whether a peer may open a link now; `nil` means yes, else the reason.
    func refusal(peer: NodeID, database: DatabaseName, peerIsKith: Bool, isOneShot: Bool) -> KithError? {
        guard !isStopped, let slot = slots[LinkKey(peer: peer, database: database)] else {
            return KithError(.databaseNotFound, "there is no database \"\(database)\" here")
        }
        if isOneShot {
            guard slot.oneShots.count >= NodeLimits.oneShotLinksMax else { return nil }
            return KithError(.busy, "\(NodeLimits.oneShotLinksMax) replications that end by themselves are under way")
        }
        guard peerIsKith else {
            guard slot.clients.count >= NodeLimits.clientLinksMax else { return nil }
            return KithError(.busy, "this client has \(NodeLimits.clientLinksMax) links to the database already")
        }
        guard !slot.isOnDemand else {
            return KithError(.forbidden, "the database \"\(database)\" is replicated on demand only")
        }
        let (answer, actions) = slot.keeper.asked()
        perform(actions, slot)
        return switch answer {
        case .accept: nil
        case .linkedAlready: KithError(.conflict, "there is a link already")
        case .opening: KithError(.conflict, "a link is being opened from the other side")
        }
    }

    /// Takes a link that a peer has opened; `refusal` was asked before.
    func accept(_ link: PeerLink) {
        guard !isStopped, let slot = slots[link.key] else { return link.end(closeCode: 4001, "not shared") }
        if link.isOneShot { return takeOneShot(link, slot) }
        if link.peerIsKith { perform(slot.keeper.accepted(atSeconds: Self.monotonicSeconds), slot) }
        take(link, slot)
    }

    private func take(_ link: PeerLink, _ slot: LinkSlot) {
        let isFirst = link.peerIsKith && !isConnected(slot.key.peer)
        if link.peerIsKith {
            set(link, slot)
        } else {
            slot.clients.append(link)
        }
        slot.wasInSync = false
        slot.isAbsentThere = false
        slot.isOnDemandThere = false
        slot.sinceSeconds = WallClock.seconds
        let direction = link.role == .active ? "connected to" : "connected from"
        log("\(name(slot.key.peer))  \(slot.key.database)  \(direction) \(link.address)  \(link.tlsVersion)")
        link.onChange = { [weak self, weak slot, weak link] in
            guard let self, let slot, let link, slot.links.contains(where: { $0 === link }) else { return }
            changed(slot, link)
        }
        link.onRefusals = { [weak self, weak slot] refusals, taken in
            guard let self, let slot else { return }
            noteRefusals(slot, refusals, taken)
            tellRefusals(refusals, slot.key)
        }
        observe(link)
        link.onEnd = { [weak self, weak slot, weak link] error in
            guard let self, let slot, let link else { return }
            ended(slot, link, error)
        }
        link.start()
        if slot.hasLoadedRefusals { tellRefused(slot, link) }
        if isFirst { onLinked?(slot.key.peer) }
        onChange?()
    }

    private func changed(_ slot: LinkSlot, _ link: PeerLink) {
        let isInSync = slot.links.allSatisfy { $0.status.state == .idle }
        if isInSync {
            slot.lastInSyncSeconds = WallClock.seconds
            slot.keeper.settled()
            slot.lastError = nil
            slot.lastErrorCode = nil
            slot.lastErrorSeconds = nil
        }
        if isInSync != slot.wasInSync {
            slot.wasInSync = isInSync
            if isInSync, link.status.completed > 0 {
                log("\(name(slot.key.peer))  \(slot.key.database)  in sync after \(link.status.completed) documents")
            } else if isInSync {
                log("\(name(slot.key.peer))  \(slot.key.database)  in sync")
            }
        }
        followedChanged(link)
        onChange?()
    }

    private func ended(_ slot: LinkSlot, _ link: PeerLink, _ error: KithError) {
        followedEnded(link, error)
        guard slot.links.contains(where: { $0 === link }) else { return }
        if link.status.state == .idle { slot.lastInSyncSeconds = link.lastHeardWallSeconds }
        slot.lastHeardSeconds = link.lastHeardWallSeconds
        if slot.link === link { set(nil, slot) } else { slot.clients.removeAll { $0 === link } }
        slot.directions = link.status.directions
        slot.sinceSeconds = WallClock.seconds
        slot.wasInSync = false
        // A client that has what it wanted says goodbye, and that is all.
        if error.code != .closed || link.peerIsKith { slot.noteError(error.message, error.code) }
        log("\(name(slot.key.peer))  \(slot.key.database)  link ended: \(error.message)")
        keepProgress(slot, link)
        if link.peerIsKith || link.role == .active {
            slot.keeper.ended(moment())
            arm(slot)
        }
        onChange?()
    }

    func slot(_ key: LinkKey) -> LinkSlot? { slots[key] }

    var allSlots: some Sequence<LinkSlot> { slots.values }

    func slots(of peer: NodeID) -> [LinkSlot] {
        slots.values.filter { $0.key.peer == peer }.sorted { $0.key.database < $1.key.database }
    }

    func name(_ peer: NodeID) -> String { book.peer(peer)?.name ?? peer.short }
}
