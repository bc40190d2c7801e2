import KithTrust

/// Node IDs from any bytes: what reads as an ID prints as a text that reads as the same ID, and every hash prints as a
/// text that reads back.
func fuzzNodeID(_ bytes: UnsafeRawBufferPointer) {
    if let id = try? NodeID(parsingUTF8: bytes) {
        precondition((try? NodeID(parsing: id.description)) == id)
    }
    if bytes.count >= NodeID.hashByteCount {
        let id = NodeID(subjectPublicKeyHash: Array(bytes.prefix(NodeID.hashByteCount)))
        precondition((try? NodeID(parsing: id.description)) == id)
    }
    _ = try? NodeName.check(String(decoding: bytes, as: UTF8.self))
}

/// Any bytes at either side of a pairing, in two pieces: nothing reaches a pair without this side's person, and what is
/// answered stays small.
func fuzzPairing(_ bytes: UnsafeRawBufferPointer) {
    guard let first = bytes.first else { return }
    let id = NodeID(subjectPublicKeyHash: [UInt8](repeating: 1, count: 32))
    let value = [UInt8](repeating: 2, count: PairingSession.nonceByteCount)
    var session = PairingSession(
        role: first & 1 == 0 ? .initiator : .responder, ownID: id, ownName: "a", peerID: id, exporter: value,
        nonce: value)
    let half = Int(first >> 1) % bytes.count
    session.receive(UnsafeRawBufferPointer(rebasing: bytes[1..<max(1, half)]))
    session.accept()
    session.receive(UnsafeRawBufferPointer(rebasing: bytes[max(1, half)...]))
    switch session.state {
    case .agreed, .stored, .paired, .waitingForPeer: preconditionFailure("paired without a person")
    default: break
    }
    precondition(session.takeOutput().count < 4096)
}

private let fuzzedSecret = try? InvitationCode(parsing: "7-harbor-desert-bridge").secret()

/// Any bytes at either side of an exchange of an invitation code: nothing proves to know the code.
func fuzzInvitation(_ bytes: UnsafeRawBufferPointer) {
    guard let first = bytes.first, let secret = fuzzedSecret else { return }
    let id = NodeID(subjectPublicKeyHash: [UInt8](repeating: 1, count: 32))
    let value = [UInt8](repeating: 2, count: InvitationSession.randomByteCount)
    guard
        var session = try? InvitationSession(
            role: first & 1 == 0 ? .host : .guest, secret: secret, ownID: id, ownName: "a", peerID: id,
            exporter: value, random: value)
    else { preconditionFailure("no session") }
    let half = Int(first >> 1) % bytes.count
    session.receive(UnsafeRawBufferPointer(rebasing: bytes[1..<max(1, half)]))
    session.offer([:])
    session.receive(UnsafeRawBufferPointer(rebasing: bytes[max(1, half)...]))
    session.stored()
    switch session.state {
    case .proved, .offered, .agreed, .stored, .paired: preconditionFailure("proved without the code")
    default: break
    }
    precondition(session.takeOutput().count < 4096)
    _ = try? InvitationCode(parsing: String(decoding: bytes, as: UTF8.self))
}

/// Any bytes as a statement, and as what the other side of an exchange sends, in two pieces: what is read is what was given, and
/// what is kept of it stays small.
func fuzzStatement(_ bytes: UnsafeRawBufferPointer) {
    if let statement = try? TrustStatement(verifying: Array(bytes)) {
        precondition(statement.bytes == Array(bytes) && statement.seconds >= 0)
        precondition((statement.revoked == nil) != (statement.successor == nil))
    }
    guard let first = bytes.first else { return }
    var exchange = TrustExchange(
        instance: [UInt8](repeating: 7, count: TrustExchange.instanceByteCount), rotations: [])
    let half = max(1, Int(first) * bytes.count / 256)
    for piece in [bytes[1..<max(1, half)], bytes[max(1, half)...]] {
        for step in exchange.receive(UnsafeRawBufferPointer(rebasing: piece)) {
            switch step {
            case .introduced(let instance, let rotations):
                precondition(instance.count == TrustExchange.instanceByteCount)
                precondition(rotations.count <= TrustLimits.formerKeysMax)
                exchange.tell([])
            case .told(let statements):
                precondition(statements.allSatisfy { (1...TrustLimits.statementBytesMax).contains($0.count) })
                exchange.confirm(isTrusted: bytes.count % 2 == 0)
            case .stored: break
            }
        }
    }
    precondition(!(exchange.isBroken && exchange.isDone))
}
