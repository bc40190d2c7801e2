import KithDocuments
import KithTransport
import KithTrust

/// The pairings under way of a node, and those that have just ended.
///
/// A stranger can open a connection that speaks pairing and nothing else. It costs little, is limited in number and for
/// each address, and is gone after `NodeLimits.pairingAskSeconds` unless a person accepts it.
@LoopActor
final class PairingManager {
    let ownID: NodeID
    let ownName: String
    /// The client's side of TLS: takes any key, since comparing the numbers decides about it.
    let client: TLSContext
    private let book: PeerBook
    private let log: NodeLog
    private var pairings: [NodePairing] = []
    private var nextNumber = 1
    /// Trusts a node under a name, durably, and remembers where it was reached.
    var onAgreed: ((NodeID, String, SocketAddress?) throws(KithError) -> Peer)?
    /// Called whenever something of a pairing that is shown has changed.
    var onChange: (() -> Void)?

    init(
        identity: TLSIdentity, ownID: NodeID, ownName: String, book: PeerBook, log: NodeLog
    ) throws(KithError) {
        self.ownID = ownID
        self.ownName = ownName
        self.book = book
        self.log = log
        client = try TLSContext.client(
            identity: identity, verify: { _ in .trusted }, applicationProtocol: PairingSession.applicationProtocol)
    }

    /// All of them, in the order in which they began.
    var all: [NodePairing] { pairings }

    func pairing(_ number: Int) -> NodePairing? { pairings.first { $0.number == number } }

    /// Takes a connection on which a stranger wants to pair, unless too many do.
    func accept(_ connection: Connection, _ info: ConnectionInfo) {
        let active = pairings.filter { $0.role == .responder && !$0.isOver }
        let host = Self.host(info.remoteName)
        guard active.count < NodeLimits.pairingsMax,
            active.count(where: { Self.host($0.address) == host }) < NodeLimits.pairingsPerAddressMax
        else {
            log.aboutStranger(
                "\(info.remoteName)  wants to pair, and too many do already", key: "pairing refused \(host)")
            return connection.abort()
        }
        let pairing = NodePairing(number: takeNumber(), accepted: connection, info: info, manager: self)
        keep(pairing)
    }

    /// Asks a machine to pair.
    ///
    /// - Parameter addresses: where it may be, best first.
    /// - Throws: `.busy` when too many pairings are under way.
    func ask(_ addresses: [SocketAddress]) throws(KithError) -> NodePairing {
        guard pairings.count(where: { $0.role == .initiator && !$0.isOver }) < NodeLimits.pairingsMax else {
            throw KithError(.busy, "\(NodeLimits.pairingsMax) pairings are under way", remedy: "End one of them first")
        }
        let pairing = NodePairing(number: takeNumber(), asking: addresses, manager: self)
        keep(pairing)
        pairing.start()
        return pairing
    }

    /// Ends all of them because the node stops.
    func stop() {
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

    /// Writes the other machine into the book, under its own name unless another peer has that.
    func store(_ pairing: NodePairing) throws(KithError) -> Peer {
        guard let session = pairing.session, session.state == .agreed, let add = onAgreed else {
            throw KithError(.internal, "a node was to be trusted before both sides have agreed")
        }
        let name = session.peerName ?? session.peerID.short
        do {
            return try add(session.peerID, name, pairing.dialled)
        } catch  where error.code == .nameTaken || error.code == .badName {
            return try add(session.peerID, session.peerID.short, pairing.dialled)
        }
    }

    func changed(_ pairing: NodePairing) {
        if pairing.awaitsAcceptance, let session = pairing.session {
            log.aboutStranger(
                "\(session.peerName ?? "")  \(session.peerID.short)  \(pairing.address)  wants to pair",
                key: "pairing \(session.peerID)")
        }
        onChange?()
    }

    private static func host(_ address: String) -> Substring {
        address.lastIndex(of: ":").map { address[..<$0] } ?? address[...]
    }
}
