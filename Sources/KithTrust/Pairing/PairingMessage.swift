import KithDocuments

/// One message of pairing: two bytes of length, big-endian, and a JSON object.
enum PairingMessage: Equatable {
    /// The side that asks begins: who it says it is, and what binds it to its nonce.
    case hello(name: String, commitment: [UInt8])
    /// The other side's person has accepted the request: its name and nonce.
    case accepted(name: String, nonce: [UInt8])
    /// The nonce of the side that asked.
    case reveal(nonce: [UInt8])
    /// This side's person says that both screens show the same.
    case same
    /// This side has the other one in its book.
    case paired
    /// It is over.
    case end(PairingEnd)

    /// The message as it goes over the connection.
    var bytes: [UInt8] {
        let value: JSONValue =
            switch self {
            case .hello(let name, let commitment):
                ["kith_pair": 1, "name": .string(name), "commitment": PairingFrame.hex(commitment)]
            case .accepted(let name, let nonce): ["name": .string(name), "nonce": PairingFrame.hex(nonce)]
            case .reveal(let nonce): ["nonce": PairingFrame.hex(nonce)]
            case .same: ["same": true]
            case .paired: ["paired": true]
            case .end(let reason): ["end": .string(reason.rawValue)]
            }
        return PairingFrame.bytes(value)
    }

    /// Takes the first message out of what was received; `nil` when it is not whole yet.
    ///
    /// - Throws: `.protocolViolation` when it is too long, or not one of these messages.
    static func take(from input: inout [UInt8]) throws(KithError) -> PairingMessage? {
        guard let value = try PairingFrame.take(from: &input) else { return nil }
        guard let message = Self(value) else { throw PairingFrame.notUnderstood }
        return message
    }

    private init?(_ value: JSONValue) {
        if let version = value["kith_pair"] {
            guard version.intValue == 1, let name = PairingFrame.name(value),
                let commitment = PairingFrame.bytes(value["commitment"], count: PairingTranscript.valueByteCount)
            else { return nil }
            self = .hello(name: name, commitment: commitment)
        } else if let nonce = PairingFrame.bytes(value["nonce"], count: PairingTranscript.valueByteCount) {
            if value["name"] == nil {
                self = .reveal(nonce: nonce)
            } else {
                guard let name = PairingFrame.name(value) else { return nil }
                self = .accepted(name: name, nonce: nonce)
            }
        } else if value["same"]?.boolValue == true {
            self = .same
        } else if value["paired"]?.boolValue == true {
            self = .paired
        } else if let reason = value["end"]?.stringValue {
            // A reason of a later version is an end all the same.
            self = .end(PairingEnd(rawValue: reason) ?? .cancelled)
        } else {
            return nil
        }
    }
}
