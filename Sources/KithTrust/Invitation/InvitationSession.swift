import COpenSSL
import KithDocuments

/// The exchange of an invitation code with one other machine, as a machine without I/O (docs/protocol/pairing.md).
///
/// It lives on one TLS connection whose two ends have proved their keys to each other. Both sides prove by SPAKE2 that they
/// know the code; the proofs are bound to both keys and to the TLS session, so a machine in between can pass on messages
/// and proves nothing by it. The invited side proves itself first: who does not know the code gets no proof to test guesses
/// against, and each try is one that the inviting side sees.
public struct InvitationSession: Sendable {
    /// Which side this is.
    public enum Role: Sendable, Hashable {
        /// It gave the invitation, and was dialled.
        case host
        /// It was given the code, and has dialled.
        case guest
    }

    /// Bytes of randomness that `init` needs.
    public static let randomByteCount = SPAKE2.scalarByteCount
    /// The label of `exporter` in `init`.
    public static let exporterLabel = "EXPORTER-kith-join-1"
    /// Length in bytes of `exporter` in `init`.
    public static let exporterByteCount = 32
    /// The application protocol of the TLS connection (RFC 7301).
    public static let applicationProtocol = "kith-join/1"

    /// Which side this is.
    public let role: Role
    /// The key at the other end of the connection.
    public let peerID: NodeID
    /// What the other side calls itself, once it has said so; a name that `NodeName` takes.
    public private(set) var peerName: String?
    /// What the inviting side offers, once it has proved that it knows the code: a JSON object.
    public private(set) var terms: JSONValue?
    /// How far it is.
    public private(set) var state: InvitationState = .opening

    private let ownName: String
    private let exchange: SPAKE2
    private let exporter: [UInt8]
    private var proofs: SPAKE2.Proofs?
    private var input: [UInt8] = []
    private var output: [UInt8] = []

    /// Begins an exchange.
    ///
    /// - Parameters:
    ///   - role: which side this is.
    ///   - secret: of the code.
    ///   - ownID: this node.
    ///   - ownName: its name, as the other side's person is shown it.
    ///   - peerID: the key that the other end has proved to own.
    ///   - exporter: 32 bytes derived from the TLS session under `exporterLabel`, with an empty context.
    ///   - random: 32 fresh random bytes, as `PairingSession.freshNonce` gives them.
    /// - Throws: `.internal` when OpenSSL fails.
    public init(
        role: Role, secret: InvitationSecret, ownID: NodeID, ownName: String, peerID: NodeID, exporter: [UInt8],
        random: [UInt8]
    ) throws(KithError) {
        precondition(exporter.count == Self.exporterByteCount && random.count == Self.randomByteCount)
        self.role = role
        self.ownName = ownName
        self.peerID = peerID
        self.exporter = exporter
        let curve = try SPAKE2Curve()
        let scalar = try curve.reduced(random)
        exchange = try SPAKE2(
            side: role == .guest ? .a : .b, ownIdentity: ownID.subjectPublicKeyHash,
            peerIdentity: peerID.subjectPublicKeyHash, secret: secret.scalar, randomness: scalar)
        if role == .guest {
            send(.join(name: ownName, share: exchange.share))
            state = .proving
        }
    }

    /// What is sent to a side that there is no invitation or no room for.
    public static func refusal(_ reason: InvitationEnd) -> [UInt8] {
        InvitationMessage.end(reason, triesLeft: nil).bytes
    }

    /// Bytes of a message that is not whole yet, at most its largest size.
    var bufferedByteCount: Int { input.count }

    /// Bytes for the other side, which are then no longer here. When the state `isOver`, the connection is to be closed
    /// behind them.
    public mutating func takeOutput() -> [UInt8] {
        defer { output = [] }
        return output
    }

    // MARK: The other side

    /// Takes bytes of the other side. What breaks the protocol ends the exchange.
    public mutating func receive(_ bytes: UnsafeRawBufferPointer) {
        guard !state.isOver else { return }
        input.append(contentsOf: bytes)
        do {
            while !state.isOver, let message = try InvitationMessage.take(from: &input) { try handle(message) }
        } catch {
            fail(.broken)
        }
        if state.isOver { input = [] }
    }

    /// Says that the connection has ended.
    public mutating func connectionLost() {
        switch state {
        case .paired, .failed, .lost: break
        case .stored: state = .paired(isConfirmed: false)
        case .opening, .challenged, .proving, .proved, .offered, .agreed: state = .lost
        }
    }

    private mutating func handle(_ message: InvitationMessage) throws(KithError) {
        switch (message, state, role) {
        case (.end, .stored, _):
            // The other side could not write its book.
            state = .paired(isConfirmed: false)
        case (.end(let reason, let left), _, _):
            state = .failed(reason, byPeer: true, triesLeft: left)
        case (.join(let name, let share), .opening, .host):
            proofs = try exchange.proofs(peerShare: share, context: exporter)
            peerName = name
            send(.share(exchange.share))
            state = .proving
        case (.share(let share), .proving, .guest) where proofs == nil:
            let proofs = try exchange.proofs(peerShare: share, context: exporter)
            self.proofs = proofs
            state = .challenged
        case (.proof(let proof), .proving, .host):
            // What is sent after a wrong proof is for whoever counts the tries to say: see `refuse`.
            state = Self.same(proof, proofs?.expected) ? .proved : .failed(.wrong, byPeer: false, triesLeft: nil)
        case (.offer(let proof, let name, let terms), .proving, .guest) where proofs != nil:
            guard Self.same(proof, proofs?.expected) else { return fail(.broken) }
            (peerName, self.terms) = (name, terms)
            state = .agreed
        case (.paired, .offered, .host):
            state = .agreed
        case (.paired, .stored, .guest):
            state = .paired(isConfirmed: true)
        default:
            fail(.broken)
        }
    }

    // MARK: This side

    /// The invited side proves that it knows the code; without effect in another state than `challenged`.
    public mutating func prove() {
        guard state == .challenged, let proofs else { return }
        send(.proof(proofs.own))
        state = .proving
    }

    /// The inviting side answers a right proof: with its own, and with what it offers. Without effect in another state.
    ///
    /// - Parameter terms: a JSON object, of which `PairingFrame.bytesMax` leaves about 700 bytes.
    public mutating func offer(_ terms: JSONValue) {
        guard state == .proved, let proofs else { return }
        self.terms = terms
        send(.offer(proof: proofs.own, name: ownName, terms: terms))
        state = .offered
    }

    /// The inviting side answers a wrong proof with how many tries its invitation has left.
    public mutating func refuse(triesLeft: Int) {
        guard case .failed(.wrong, byPeer: false, triesLeft: nil) = state else { return }
        send(.end(.wrong, triesLeft: triesLeft))
        state = .failed(.wrong, byPeer: false, triesLeft: triesLeft)
    }

    /// The other side is in this node's book, durably; without effect before the two have agreed.
    public mutating func stored() {
        guard state == .agreed else { return }
        send(.paired)
        state = role == .host ? .paired(isConfirmed: true) : .stored
    }

    /// Ends it from this side, telling the other why; without effect when it is over. When the other side is in the book
    /// already, it stays there.
    public mutating func fail(_ reason: InvitationEnd) {
        guard !state.isOver else { return }
        guard state != .stored else {
            state = .paired(isConfirmed: false)
            return
        }
        send(.end(reason, triesLeft: nil))
        state = .failed(reason, byPeer: false, triesLeft: nil)
    }

    private mutating func send(_ message: InvitationMessage) { output += message.bytes }

    /// Whether two proofs are the same, in a time that does not depend on where they differ.
    private static func same(_ one: [UInt8], _ other: [UInt8]?) -> Bool {
        guard let other, one.count == other.count else { return false }
        return CRYPTO_memcmp(one, other, one.count) == 0
    }
}
