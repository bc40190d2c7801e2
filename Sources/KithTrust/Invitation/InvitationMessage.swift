import KithDocuments

/// One message of the exchange of an invitation code, in a `PairingFrame`.
enum InvitationMessage: Equatable {
    /// The invited side begins: who it says it is, and its share.
    case join(name: String, share: [UInt8])
    /// The share of the inviting side.
    case share([UInt8])
    /// The invited side knows the code.
    case proof([UInt8])
    /// The inviting side knows it too: its name, and what the other may do here.
    case offer(proof: [UInt8], name: String, terms: JSONValue)
    /// This side has the other one in its book.
    case paired
    /// It is over; after a wrong code with how many tries are left.
    case end(InvitationEnd, triesLeft: Int?)

    /// Length in bytes of a proof.
    static let proofByteCount = 32

    /// The message as it goes over the connection.
    var bytes: [UInt8] {
        let value: JSONValue =
            switch self {
            case .join(let name, let share):
                ["kith_join": 1, "name": .string(name), "share": PairingFrame.hex(share)]
            case .share(let share): ["share": PairingFrame.hex(share)]
            case .proof(let proof): ["proof": PairingFrame.hex(proof)]
            case .offer(let proof, let name, let terms):
                ["proof": PairingFrame.hex(proof), "name": .string(name), "terms": terms]
            case .paired: ["paired": true]
            case .end(let reason, let triesLeft):
                if let triesLeft {
                    ["end": .string(reason.rawValue), "left": JSONValue(Int64(triesLeft))]
                } else {
                    ["end": .string(reason.rawValue)]
                }
            }
        return PairingFrame.bytes(value)
    }

    /// Takes the first message out of what was received; `nil` when it is not whole yet.
    ///
    /// - Throws: `.protocolViolation` when it is too long, or not one of these messages.
    static func take(from input: inout [UInt8]) throws(KithError) -> InvitationMessage? {
        guard let value = try PairingFrame.take(from: &input) else { return nil }
        guard let message = Self(value) else { throw PairingFrame.notUnderstood }
        return message
    }

    private init?(_ value: JSONValue) {
        if let version = value["kith_join"] {
            guard version.intValue == 1, let name = PairingFrame.name(value),
                let share = PairingFrame.bytes(value["share"], count: SPAKE2.shareByteCount)
            else { return nil }
            self = .join(name: name, share: share)
        } else if let share = PairingFrame.bytes(value["share"], count: SPAKE2.shareByteCount) {
            self = .share(share)
        } else if let proof = PairingFrame.bytes(value["proof"], count: Self.proofByteCount) {
            if value["name"] == nil {
                self = .proof(proof)
            } else {
                guard let name = PairingFrame.name(value), let terms = value["terms"], terms.objectValue != nil else {
                    return nil
                }
                self = .offer(proof: proof, name: name, terms: terms)
            }
        } else if value["paired"]?.boolValue == true {
            self = .paired
        } else if let reason = value["end"]?.stringValue {
            let left = value["left"]?.intValue.flatMap { (0...1000).contains($0) ? Int($0) : nil }
            // A reason of a later version is an end all the same.
            self = .end(InvitationEnd(rawValue: reason) ?? .cancelled, triesLeft: left)
        } else {
            return nil
        }
    }
}
