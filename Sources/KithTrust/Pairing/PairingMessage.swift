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

    /// The longest JSON text of a message that is taken, in bytes.
    static let bytesMax = 1024

    /// The message as it goes over the connection.
    var bytes: [UInt8] {
        let value: JSONValue =
            switch self {
            case .hello(let name, let commitment):
                ["kith_pair": 1, "name": .string(name), "commitment": .string(Self.hex(commitment))]
            case .accepted(let name, let nonce): ["name": .string(name), "nonce": .string(Self.hex(nonce))]
            case .reveal(let nonce): ["nonce": .string(Self.hex(nonce))]
            case .same: ["same": true]
            case .paired: ["paired": true]
            case .end(let reason): ["end": .string(reason.rawValue)]
            }
        let text = value.canonicalBytes()
        return [UInt8(truncatingIfNeeded: text.count >> 8), UInt8(truncatingIfNeeded: text.count)] + text
    }

    /// Takes the first message out of what was received; `nil` when it is not whole yet.
    ///
    /// - Throws: `.protocolViolation` when it is too long, or not one of these messages.
    static func take(from input: inout [UInt8]) throws(KithError) -> PairingMessage? {
        guard input.count >= 2 else { return nil }
        let count = Int(input[0]) << 8 | Int(input[1])
        guard count <= bytesMax else { throw broken("a message of pairing has \(count) bytes, more than \(bytesMax)") }
        guard input.count >= 2 + count else { return nil }
        let text = Array(input[2..<2 + count])
        input.removeSubrange(0..<2 + count)
        guard let value = try? JSONValue(parsing: text, bytesMax: bytesMax), value.objectValue != nil,
            let message = Self(value)
        else { throw broken("a message of pairing cannot be understood") }
        return message
    }

    private init?(_ value: JSONValue) {
        if let version = value["kith_pair"] {
            guard version.intValue == 1, let name = Self.name(value), let commitment = Self.bytes(value["commitment"])
            else { return nil }
            self = .hello(name: name, commitment: commitment)
        } else if let nonce = Self.bytes(value["nonce"]) {
            if value["name"] == nil {
                self = .reveal(nonce: nonce)
            } else {
                guard let name = Self.name(value) else { return nil }
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

    /// A name that people can be shown.
    private static func name(_ value: JSONValue) -> String? {
        guard let name = value["name"]?.stringValue, (try? NodeName.check(name)) != nil else { return nil }
        return name
    }

    private static func broken(_ text: String) -> KithError { KithError(.protocolViolation, text) }

    private static func hex(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    private static func bytes(_ value: JSONValue?) -> [UInt8]? {
        guard let text = value?.stringValue?.utf8, text.count == 2 * PairingTranscript.valueByteCount else {
            return nil
        }
        var bytes: [UInt8] = []
        var high: UInt8?
        for character in text {
            let digit: UInt8
            switch character {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = character - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = character - UInt8(ascii: "a") + 10
            default: return nil
            }
            if let first = high {
                bytes.append(first << 4 | digit)
                high = nil
            } else {
                high = digit
            }
        }
        return bytes
    }
}
