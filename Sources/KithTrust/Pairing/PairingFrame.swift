import KithDocuments

/// How messages lie on a connection before there is trust: two bytes of length, big-endian, and a JSON object.
enum PairingFrame {
    /// The longest JSON text of a message that is taken, in bytes.
    static let bytesMax = 1024

    static let notUnderstood = KithError(.protocolViolation, "a message of pairing cannot be understood")

    /// A message as it goes over the connection.
    static func bytes(_ value: JSONValue) -> [UInt8] {
        let text = value.canonicalBytes()
        return [UInt8(truncatingIfNeeded: text.count >> 8), UInt8(truncatingIfNeeded: text.count)] + text
    }

    /// Takes the first message out of what was received; `nil` when it is not whole yet.
    ///
    /// - Throws: `.protocolViolation` when it is too long, or no JSON object.
    static func take(from input: inout [UInt8]) throws(KithError) -> JSONValue? {
        guard input.count >= 2 else { return nil }
        let count = Int(input[0]) << 8 | Int(input[1])
        guard count <= bytesMax else {
            throw KithError(.protocolViolation, "a message of pairing has \(count) bytes, more than \(bytesMax)")
        }
        guard input.count >= 2 + count else { return nil }
        let text = Array(input[2..<2 + count])
        input.removeSubrange(0..<2 + count)
        guard let value = try? JSONValue(parsing: text, bytesMax: bytesMax), value.objectValue != nil else {
            throw notUnderstood
        }
        return value
    }

    /// The member `name`, if it is one that people can be shown.
    static func name(_ value: JSONValue) -> String? {
        guard let name = value["name"]?.stringValue, (try? NodeName.check(name)) != nil else { return nil }
        return name
    }

    /// Bytes as a text of lower-case hex digits.
    static func hex(_ bytes: [UInt8]) -> JSONValue { .string(Hexadecimal.text(bytes)) }

    /// The bytes that a text of lower-case hex digits stands for; `nil` when it is none of so many.
    static func bytes(_ value: JSONValue?, count: Int) -> [UInt8]? {
        guard let text = value?.stringValue, text.utf8.count == 2 * count else { return nil }
        return Hexadecimal.bytes(text)
    }
}
