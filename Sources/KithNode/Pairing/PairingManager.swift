import KithDocuments
import KithTransport
import KithTrust

/// The pairings under way of a node, and those that have just ended.
///
/// A stranger can open a connection that speaks pairing and nothing else. It costs little, is limited in number and for
/// each address (`PairingRoom`), and is gone after `NodeLimits.pairingAskSeconds` unless a person accepts it.
@LoopActor
final class PairingManager {
    let ownID: NodeID
    let ownName: String
    /// The client's side of TLS: takes any key, since comparing the numbers decides about it.
    private(set) var client: TLSContext
    private let book: PeerBook
    private let newcomers: Newcomers
    private let log: NodeLog
    private var pairings: [NodePairing] = []
    private var nextNumber = 1
    private var isStopped = false
    /// How long pairings may take.
    var times = PairingTimes()
    /// Called whenever something of a pairing that is shown has changed.
    var onChange: (() -> Void)?

    init(
        identity: TLSIdentity, ownID: NodeID, ownName: String, book: PeerBook, newcomers: Newcomers,
        log: NodeLog
    ) throws(KithError) {
        self.ownID = ownID
        self.ownName = ownName
        self.book = book
        self.newcomers = newcomers
        self.log = log
        client = try Self.client(identity)
    }

    private static func client(_ identity: TLSIdentity) throws(KithError) -> TLSContext {
        try TLSContext.client(
            identity: identity, verify: { _ in .trusted }, applicationProtocol: PairingSession.applicationProtocol)
    }

    /// Shows another certificate from now on.
    func use(_ identity: TLSIdentity) throws(KithError) { client = try Self.client(identity) }

    /// All of them, in the order in which they began.
    var all: [NodePairing] { pairings }

    func pairing(_ number: Int) -> NodePairing? { pairings.first { $0.number == number } }

    /// Takes a connection on which a stranger wants to pair. When there is no room, the oldest request of whoever has most
    /// gives way, unless a person is busy with it.
    func accept(_ connection: Connection, _ info: ConnectionInfo) {
        let active = pairings.filter { $0.role == .responder && !$0.isOver }
        let group = PairingRoom.group(ofAddress: info.remoteName)
        let requests = active.map {
            PairingRoom.Request(group: PairingRoom.group(ofAddress: $0.address), isUnheeded: $0.isUnheeded)
        }
        switch PairingRoom.verdict(requests, newcomer: group) {
        case .room: break
        case .replace(let place): active[place].end(.busy)
        case .full:
            log.aboutStranger(
                "\(info.remoteName)  wants to pair, and too many do already", key: "pairing refused \(group)")
            connection.write(PairingSession.refusal(.busy))
            connection.leave()
            return
        }
        keep(NodePairing(number: takeNumber(), accepted: connection, info: info, manager: self))
    }

    /// Asks a machine to pair.
    ///
    /// - Parameters:
    ///   - addresses: where it may be, best first.
    ///   - shortID: who is expected there, if that is known.
    /// - Throws: `.busy` when too many pairings are under way; `.closed` when the node stops.
    func ask(_ addresses: [SocketAddress], expecting shortID: String? = nil) throws(KithError) -> NodePairing {
        guard !isStopped else { throw KithError(.closed, "the node is stopping") }
        guard pairings.count(where: { $0.role == .initiator && !$0.isOver }) < NodeLimits.pairingsMax else {
            throw KithError(.busy, "\(NodeLimits.pairingsMax) pairings are under way", remedy: "End one of them first")
        }
        let pairing = NodePairing(number: takeNumber(), asking: addresses, expecting: shortID, manager: self)
        keep(pairing)
        pairing.start()
        return pairing
    }

    /// Ends all of them because the node stops.
    func stop() {
        isStopped = true
        for pairing in pairings { pairing.end(.cancelled) }
        pairings = []
        onChange = nil
    }

    private func takeNumber() -> Int {
        defer { nextNumber += 1 }
        return nextNumber
    }

    private func keep(_ pairing: NodePairing) {
        pairings.append(pairing)
        // What has ended stays for a while, so that whoever follows it learns how.
        let excess = pairings.count - NodeLimits.pairingsRememberedMax
        if excess > 0, let oldest = pairings.firstIndex(where: \.isOver) { pairings.remove(at: oldest) }
        onChange?()
    }

    // MARK: For the pairings

    /// What the book says of the machine: the name under which it is trusted already, and whether another machine has
    /// the name that it gives itself.
    func known(_ session: PairingSession) -> (name: String?, isNameTaken: Bool) {
        let other = session.peerName.flatMap { book.peer(named: $0) }
        return (book.peer(session.peerID)?.name, other.map { $0.id != session.peerID } ?? false)
    }

    /// Who has revoked a machine that is in the book, if somebody has.
    func revocation(_ session: PairingSession) -> PeerRevocation? { book.revokedPeer(session.peerID)?.revocation }

    /// Writes the other machine into the book.
    func store(_ pairing: NodePairing) throws(KithError) -> Peer {
        guard let session = pairing.session, session.state == .agreed else {
            throw KithError(.internal, "a node was to be trusted before both sides have agreed")
        }
        return try newcomers.trust(session.peerID, calling: session.peerName, at: pairing.dialled, by: .number)
    }

    func changed(_ pairing: NodePairing) {
        if let session = pairing.session {
            let who = "\(session.peerName ?? "")  \(session.peerID.short)  \(pairing.address)"
            if pairing.awaitsAcceptance {
                // Who asks again has given up what it had asked before.
                for other in pairings where other !== pairing && other.awaitsAcceptance {
                    if other.session?.peerID == session.peerID { other.end(.expired) }
                }
                log.aboutStranger("\(who)  wants to pair", key: "pairing \(session.peerID)")
            } else if pairing.isOver, pairing.hasShownNumber, pairing.peer == nil {
                log.aboutStranger("\(who)  was not paired after the numbers were shown", key: "shown \(session.peerID)")
            }
        }
        onChange?()
    }
}
