import KithDocuments
import KithTransport
import KithTrust

/// Tells other nodes what was said of keys, and hears it from them (docs/protocol/trust.md).
///
/// Each peer is told once of each change, whenever it can be reached. A node that is not trusted may speak here too: it may be
/// a peer with a new key, or one that wants to know why it is refused. It learns no more than that.
@LoopActor
final class TrustManager {
    let ownID: NodeID
    /// A random number of this process: two nodes with one key have different ones.
    let instance: [UInt8]
    /// Those of this node's key.
    let rotations: [TrustStatement]
    /// The client's side of TLS: takes any key, since the statements decide.
    private(set) var client: TLSContext
    private let book: PeerBook
    private let log: NodeLog
    private var links: [TrustLink] = []
    /// Who is to be told when there is room.
    private var waiting: [NodeID] = []
    private var told: [NodeID: UInt64] = [:]
    private var attempts: [NodeID: Int] = [:]
    private var timers: [NodeID: LoopTimer] = [:]
    /// When an address was asked last who is there, and how long it is left alone then.
    private var asked: [SocketAddress: (seconds: Double, wait: Double)] = [:]
    /// What counts and came too soon after the like of its signer: the newest of each about each node.
    private(set) var later: [NodeID: [NodeID: TrustStatement]] = [:]
    private var laterTimer: LoopTimer?
    private var strangerPace = StrangerPace()
    private var isStopped = false
    /// Where a peer may be.
    var addresses: ((NodeID) -> [SocketAddress])?
    /// Whether there is a link with a peer.
    var isConnected: ((NodeID) -> Bool)?
    /// Asks a peer that cannot be dialled to dial.
    var hint: ((NodeID) -> Void)?
    /// Called with what statements have changed.
    var onEffects: (([StatementEffect]) -> Void)?
    /// Called when a machine that is not this one has this node's key.
    var onOwnKey: ((String) -> Void)?
    /// Called when a peer has just been told, and so has answered.
    var onTold: ((NodeID) -> Void)?
    /// Called with each node that was asked who it is.
    var onSeen: ((NodeID, SocketAddress) -> Void)?
    /// Called with the certificate of each node that an exchange begins with.
    var onShown: ((PeerCertificate) -> Void)?

    init(
        identity: NodeIdentity, tls: TLSIdentity, book: PeerBook, log: NodeLog
    ) throws(KithError) {
        ownID = identity.nodeID
        rotations = identity.rotations
        instance = Array(try PairingSession.freshNonce().prefix(TrustExchange.instanceByteCount))
        self.book = book
        self.log = log
        client = try Self.client(tls)
    }

    private static func client(_ tls: TLSIdentity) throws(KithError) -> TLSContext {
        try TLSContext.client(
            identity: tls, verify: { _ in .trusted }, applicationProtocol: TrustExchange.applicationProtocol)
    }

    /// Shows another certificate from now on.
    func use(_ tls: TLSIdentity) throws(KithError) { client = try Self.client(tls) }

    // MARK: Telling

    /// Tells a peer what it has not been told, if it can be reached.
    ///
    /// - Parameter isNews: something has changed that makes it worth trying at once, such as a new link.
    func tell(_ id: NodeID, isNews: Bool) {
        guard isNews || timers[id] == nil else { return }
        note(id)
        advance()
    }

    /// There is a link with a peer, the first one for a while: so it trusts this node, also if it did not when it was told last. It is
    /// told anew, and what it had said against this node is over.
    func linked(_ id: NodeID) {
        told[id] = nil
        do {
            if try book.forgive(id) {
                log("\(book.peer(id)?.name ?? id.short)  trusts this node again")
                onEffects?([])
            }
        } catch {
            log("\(id.short)  what it has said cannot be forgotten: \(error.message)", key: "forgiving \(id)")
        }
        tell(id, isNews: true)
    }

    /// A peer does not trust this node now, and may have forgotten what it was told.
    func refused(by id: NodeID) { told[id] = nil }

    /// Notes that a peer is to be told, at once if it is connected and is not kept waiting by those that may be gone.
    private func note(_ id: NodeID) {
        guard !isStopped, book.peer(id) != nil, !isTold(id), !links.contains(where: { $0.target == id }) else { return }
        timers.removeValue(forKey: id)?.cancel()
        guard !waiting.contains(id) else { return }
        if isConnected?(id) ?? false { waiting.insert(id, at: 0) } else { waiting.append(id) }
    }

    /// Tells everybody, each after a moment by chance where the news is not this node's own, so that a whole site does not
    /// talk at once.
    func tellAll(isOwnNews: Bool) {
        defer { advance() }
        for peer in book.peers {
            if isOwnNews {
                note(peer.id)
            } else if !isTold(peer.id), timers[peer.id] == nil {
                wait(peer.id, .random(in: 0...NodeLimits.trustSpreadSeconds))
            }
        }
    }

    /// Whether a peer, which trusts this node, has been told everything.
    func isTold(_ id: NodeID) -> Bool {
        told[id] == version || (rotations.isEmpty && book.statementsToTell(id).isEmpty)
    }

    private func advance() {
        while !isStopped, links.count(where: { $0.target != nil }) < NodeLimits.trustExchangesMax, !waiting.isEmpty {
            let id = waiting.removeFirst()
            guard book.peer(id) != nil, !isTold(id) else { continue }
            let places = addresses?(id) ?? []
            guard !places.isEmpty else {
                hint?(id)
                waitLonger(id)
                continue
            }
            let link = TrustLink(dialling: places, target: id, manager: self)
            links.append(link)
            link.start()
        }
    }

    /// Tries a peer again after a time that doubles.
    private func waitLonger(_ id: NodeID) {
        let count = attempts[id] ?? 0
        attempts[id] = count + 1
        wait(id, min(NodeLimits.trustRetrySecondsMin * Double(1 << min(count, 16)), NodeLimits.trustAskSecondsMax))
    }

    private func wait(_ id: NodeID, _ seconds: Double) {
        timers.removeValue(forKey: id)?.cancel()
        timers[id] = EventLoop.shared.schedule(afterSeconds: seconds) { [weak self] in
            self?.timers[id] = nil
            self?.tell(id, isNews: false)
        }
    }

    /// Asks who is at an address where somebody is not trusted, or does not trust this node: it may have a new key, or know why.
    func ask(_ address: SocketAddress) {
        let now = Self.now
        let last = asked[address]
        guard !isStopped, isDue(address, now),
            links.count(where: { $0.target == nil && !$0.isInbound }) < NodeLimits.trustExchangesMax
        else { return }
        if asked.count >= NodeLimits.nearbyMax, last == nil {
            if let oldest = asked.min(by: { $0.value.seconds < $1.value.seconds }) { asked[oldest.key] = nil }
        }
        let wait = last.map { min($0.wait * 2, NodeLimits.trustAskSecondsMax) } ?? NodeLimits.trustAskSecondsMin
        asked[address] = (now, wait)
        let link = TrustLink(dialling: [address], target: nil, manager: self)
        links.append(link)
        link.start()
    }

    /// Asks at one of the addresses at which a node is seen, each time at the next of those that were not asked lately: a node may
    /// have some that lead nowhere from here, and whoever claims its short ID some at which another answers.
    func ask(oneOf addresses: [SocketAddress]) {
        let places = addresses.map(\.description)
        guard !links.contains(where: { !$0.isInbound && places.contains($0.address) }) else { return }
        let now = Double(EventLoop.monotonicNanoseconds) / 1e9
        if let next = addresses.first(where: { isDue($0, now) }) { ask(next) }
    }

    /// Whether an address was not asked lately.
    private func isDue(_ address: SocketAddress, _ now: Double) -> Bool {
        asked[address].map { now - $0.seconds >= $0.wait } ?? true
    }

    /// Dials a peer that has something to tell and cannot dial itself, one time after the other.
    func hear(at address: SocketAddress) {
        guard !isStopped, !links.contains(where: { !$0.isInbound && $0.address == address.description }) else { return }
        let link = TrustLink(dialling: [address], target: nil, manager: self)
        links.append(link)
        link.start()
    }

    /// Takes a connection on which another node tells and hears.
    func accept(_ connection: Connection, _ info: ConnectionInfo) {
        guard !isStopped, let hash = info.peer?.publicKeyHash else { return connection.abort() }
        let id = NodeID(subjectPublicKeyHash: hash)
        let inbound = links.filter { $0.isInbound }
        if book.peer(id) != nil {
            // One at a time, the newest.
            for link in inbound where link.peerID == id { link.stop() }
        } else {
            let group = PairingRoom.group(ofAddress: info.remoteName)
            guard strangerPace.mayBegin(group, atSeconds: Self.now) else {
                log.aboutStranger("\(info.remoteName)  asks about keys too often", key: "asks too often \(group)")
                return connection.abort()
            }
            let strangers = inbound.filter { link in link.peerID.map { book.peer($0) == nil } ?? true }
            let requests = strangers.map {
                PairingRoom.Request(group: PairingRoom.group(ofAddress: $0.address), isUnheeded: true)
            }
            switch PairingRoom.verdict(requests, newcomer: group) {
            case .room: break
            case .replace(let place): strangers[place].stop()
            case .full: return connection.abort()
            }
        }
        let link = TrustLink(accepted: connection, info: info, manager: self)
        if !link.isOver { links.append(link) }
    }

    /// Ends everything because the node stops.
    func stop() {
        isStopped = true
        for link in links { link.stop() }
        for timer in timers.values { timer.cancel() }
        laterTimer?.cancel()
        (links, waiting, timers) = ([], [], [:])
        (addresses, hint, onEffects, onOwnKey, onSeen, onTold) = (nil, nil, nil, nil, nil, nil)
        onShown = nil
    }

    // MARK: For the links

    /// Counts up with each change of what is told.
    var version: UInt64 { book.statementsVersion }

    func trusts(_ id: NodeID) -> Bool { book.peer(id) != nil }

    func statements(for id: NodeID) -> [TrustStatement] { book.statementsToTell(id) }

    /// Takes what a node has told.
    func received(_ statements: [[UInt8]], from id: NodeID, at address: String) throws(KithError) {
        guard !statements.isEmpty else { return }
        let faults = try take(statements)
        if let fault = faults.first {
            log.aboutStranger(
                "\(id.short)  \(address)  \(faults.count) statements were not taken: \(fault.message)",
                key: "statements \(id)")
        }
        guard faults.count(where: { $0.code == .notTrusted }) < TrustLimits.wrongSignaturesMax else {
            throw KithError(.notTrusted, "\(address) tells statements with wrong signatures")
        }
    }

    /// - Returns: what was wrong with some of them.
    private func take(_ statements: [[UInt8]]) throws(KithError) -> [KithError] {
        let before = version
        let (effects, faults, later) = try book.receive(statements, atSeconds: Self.now)
        for statement in later {
            guard let subject = statement.revoked else { continue }
            // There is at most one for each that the book has.
            if let known = self.later[statement.signer]?[subject], known.seconds >= statement.seconds { continue }
            self.later[statement.signer, default: [:]][subject] = statement
        }
        if !self.later.isEmpty, laterTimer == nil {
            laterTimer = EventLoop.shared.schedule(afterSeconds: TrustLimits.redatingSeconds) { [weak self] in
                self?.takeLater()
            }
        }
        if !effects.isEmpty { onEffects?(effects) }
        if version != before { tellAll(isOwnNews: false) }
        return faults
    }

    /// Shows the book again what came too soon. What is lost by a restart is told anew by whoever is linked then.
    private func takeLater() {
        laterTimer = nil
        let statements = later.values.flatMap(\.values).map(\.bytes)
        later = [:]
        do {
            _ = try take(statements)
        } catch {
            log("what was said of keys cannot be written down: \(error.message)", key: "later")
        }
    }

    private static var now: Double { Double(EventLoop.monotonicNanoseconds) / 1e9 }

    func noteTold(_ id: NodeID, _ version: UInt64) {
        guard book.peer(id) != nil else { return }
        told[id] = version
        attempts[id] = nil
        onTold?(id)
    }

    func shown(_ certificate: PeerCertificate) { onShown?(certificate) }

    func ownKeySeen(at address: String) { onOwnKey?(address) }

    func seen(_ id: NodeID, at address: SocketAddress?) { if let address { onSeen?(id, address) } }

    func ended(_ link: TrustLink) {
        links.removeAll { $0 === link }
        guard !isStopped else { return }
        if let id = link.target, book.peer(id) != nil, !isTold(id) {
            // Where it cannot be dialled it may have dialled itself.
            if isConnected?(id) ?? false { hint?(id) }
            waitLonger(id)
            if let error = link.error, error.code != .connectionLost {
                log(
                    "\(book.peer(id)?.name ?? id.short)  could not be told of keys: \(error.message)",
                    key: "telling \(id) \(error.code)")
            }
        }
        advance()
    }
}
