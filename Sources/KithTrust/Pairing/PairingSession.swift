import COpenSSL
import KithDocuments

/// Pairing with one other machine by comparing a number, as a machine without I/O (docs/protocol/pairing.md).
///
/// ```swift
/// var session = PairingSession(role: .initiator, …)      // this side asks
/// connection.write(session.takeOutput())
/// session.receive(bytes)                                  // then look at session.state
/// session.answer(same: true)                              // what the person said
/// ```
///
/// It lives on one TLS connection whose two ends have proved their keys to each other, and knows nothing of sockets and
/// clocks. Nothing is trusted before both people have said that both screens show the same number.
public struct PairingSession: Sendable {
    /// Which side this is.
    public enum Role: Sendable, Hashable {
        /// It asks, and has dialled.
        case initiator
        /// It was asked.
        case responder
    }

    /// Bytes of randomness that `init` needs.
    public static let nonceByteCount = PairingTranscript.valueByteCount
    /// The label of `exporter` in `init`.
    public static let exporterLabel = PairingTranscript.exporterLabel
    /// The application protocol of the TLS connection (RFC 7301).
    public static let applicationProtocol = "kith-pair/1"

    /// Which side this is.
    public let role: Role
    /// The key at the other end of the connection.
    public let peerID: NodeID
    /// What the other side calls itself, once it has said so; a name that `NodeName` takes.
    public private(set) var peerName: String?
    /// How far it is.
    public private(set) var state: PairingState

    private let ownID: NodeID
    private let ownName: String
    private let exporter: [UInt8]
    private let nonce: [UInt8]
    private var peerCommitment: [UInt8] = []
    private var peerSaysSame = false
    private var peerHasStored = false
    private var input: [UInt8] = []
    private var output: [UInt8] = []

    /// Begins a pairing.
    ///
    /// - Parameters:
    ///   - role: which side this is.
    ///   - ownID: this node.
    ///   - ownName: its name, as the other side's person is shown it.
    ///   - peerID: the key that the other end has proved to own.
    ///   - exporter: 32 bytes derived from the TLS session under `exporterLabel`, with an empty context.
    ///   - nonce: 32 fresh random bytes.
    public init(
        role: Role, ownID: NodeID, ownName: String, peerID: NodeID, exporter: [UInt8], nonce: [UInt8]
    ) {
        precondition(exporter.count == PairingTranscript.valueByteCount && nonce.count == Self.nonceByteCount)
        self.role = role
        self.ownID = ownID
        self.ownName = ownName
        self.peerID = peerID
        self.exporter = exporter
        self.nonce = nonce
        state = role == .initiator ? .waiting : .opening
        if role == .initiator {
            send(
                .hello(name: ownName, commitment: PairingTranscript.commitment(nonce: nonce, initiator: ownID)))
        }
    }

    /// Fresh randomness for one pairing.
    ///
    /// - Throws: `.internal` when the system has none.
    public static func freshNonce() throws(KithError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: nonceByteCount)
        guard RAND_bytes(&bytes, Int32(bytes.count)) == 1 else {
            throw KithError(.internal, "OpenSSL has no randomness: \(OpenSSLFailure.take())")
        }
        return bytes
    }

    /// What is sent instead of a pairing to a side that there is no room for.
    public static func refusal(_ reason: PairingEnd) -> [UInt8] { PairingMessage.end(reason).bytes }

    /// Bytes of a message that is not whole yet, at most its largest size.
    var bufferedByteCount: Int { input.count }

    /// Bytes for the other side, which are then no longer here. When the state `isOver`, the connection is to be closed
    /// behind them.
    public mutating func takeOutput() -> [UInt8] {
        defer { output = [] }
        return output
    }

    // MARK: The other side

    /// Takes bytes of the other side. What breaks the protocol ends the pairing.
    public mutating func receive(_ bytes: UnsafeRawBufferPointer) {
        guard !state.isOver else { return }
        input.append(contentsOf: bytes)
        do {
            while !state.isOver, let message = try PairingMessage.take(from: &input) { handle(message) }
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
        case .opening, .waiting, .exchanging, .comparing, .waitingForPeer, .agreed: state = .lost
        }
    }

    private mutating func handle(_ message: PairingMessage) {
        switch (message, state, role) {
        case (.end, .stored, _):
            // The other side could not write its book.
            state = .paired(isConfirmed: false)
        case (.end(let reason), _, _):
            state = .failed(reason, byPeer: true)
        case (.hello(let name, let commitment), .opening, .responder):
            (peerName, peerCommitment) = (name, commitment)
            state = .waiting
        case (.accepted(let name, let peerNonce), .waiting, .initiator):
            peerName = name
            send(.reveal(nonce: nonce))
            state = .comparing(
                PairingTranscript.number(
                    session: exporter, initiator: ownID, responder: peerID, initiatorNonce: nonce,
                    responderNonce: peerNonce))
        case (.reveal(let peerNonce), .exchanging, .responder):
            // A commitment that does not fit is somebody who wants to choose after having seen this side's nonce.
            guard PairingTranscript.commitment(nonce: peerNonce, initiator: peerID) == peerCommitment else {
                return fail(.broken)
            }
            state = .comparing(
                PairingTranscript.number(
                    session: exporter, initiator: peerID, responder: ownID, initiatorNonce: peerNonce,
                    responderNonce: nonce))
        case (.same, .comparing, _) where !peerSaysSame:
            peerSaysSame = true
        case (.same, .waitingForPeer, _):
            state = .agreed
        case (.paired, .agreed, _) where !peerHasStored:
            peerHasStored = true
        case (.paired, .stored, _):
            state = .paired(isConfirmed: true)
        default:
            fail(.broken)
        }
    }

    // MARK: This side

    /// The person at this machine accepts the request of the other; without effect when nobody waits for that.
    public mutating func accept() {
        guard role == .responder, state == .waiting else { return }
        send(.accepted(name: ownName, nonce: nonce))
        state = .exchanging
    }

    /// What the person at this machine says of the two numbers; without effect when they are not asked for that.
    public mutating func answer(same: Bool) {
        guard case .comparing(let number) = state else { return }
        guard same else { return fail(.different) }
        send(.same)
        state = peerSaysSame ? .agreed : .waitingForPeer(number)
    }

    /// The other side is in this node's book, durably; without effect before both have agreed.
    public mutating func stored() {
        guard state == .agreed else { return }
        send(.paired)
        state = peerHasStored ? .paired(isConfirmed: true) : .stored
    }

    /// Ends it from this side, telling the other why; without effect when it is over, or when the other side is in the
    /// book already.
    public mutating func fail(_ reason: PairingEnd) {
        guard !state.isOver else { return }
        guard state != .stored else {
            state = .paired(isConfirmed: false)
            return
        }
        send(.end(reason))
        state = .failed(reason, byPeer: false)
    }

    private mutating func send(_ message: PairingMessage) { output += message.bytes }
}
