import KithDocuments

/// A statement whose signatures have not been checked: enough to see whether it is worth checking them.
///
/// Its bytes, numbers big-endian:
///
///     1   version, 1
///     1   kind: 1 revocation, 2 rotation
///     8   seconds since 1970
///     91  the signer's public key
///     revocation:  32 node ID, 1 + n reason in UTF-8        rotation:  91 the new public key
///     1 + n  signature by the signer                        rotation:  1 + n signature by the new key
///
/// What is signed is `kith-statement-1`, a zero byte, and everything before the signatures.
struct StatementOutline: Sendable {
    let bytes: [UInt8]
    let seconds: Int64
    let content: TrustStatement.Content
    /// Whose key is named as the signer's.
    var signer: NodeID { key.nodeID }
    private let key: StatementKey
    private let newKey: StatementKey?
    private let message: [UInt8]
    private let signature: [UInt8]
    private let newSignature: [UInt8]

    private static let version: UInt8 = 1
    /// The byte after the version in a rotation.
    static let rotationKind: UInt8 = 2
    private static let label = Array("kith-statement-1".utf8) + [0]
    /// The last second of the year 9999: what can be written as a date.
    static let secondsMax: Int64 = 253_402_300_799
    private static let signatureBytes = 8...72

    /// - Throws: `.protocolViolation` when the bytes are no statement of a kind that is known.
    init(parsing bytes: [UInt8]) throws(KithError) {
        guard bytes.count <= TrustLimits.statementBytesMax else { throw Self.malformed("is too long") }
        var reader = Reader(bytes: bytes[...])
        guard try reader.byte() == Self.version else { throw Self.malformed("has an unknown version") }
        let kind = try reader.byte()
        var seconds: UInt64 = 0
        for byte in try reader.take(8) { seconds = seconds << 8 | UInt64(byte) }
        guard seconds <= UInt64(Self.secondsMax) else { throw Self.malformed("has a time after the year 9999") }
        guard let key = StatementKey(der: try reader.take(StatementKey.byteCount)) else {
            throw Self.malformed("has a signer's key that is none")
        }
        switch kind {
        case 1:
            let subject = NodeID(subjectPublicKeyHash: try reader.take(NodeID.hashByteCount))
            guard let reason = String(validating: try reader.counted(), as: UTF8.self), Self.isFit(reason: reason)
            else { throw Self.malformed("has a reason that is too long or no text") }
            content = .revocation(of: subject, reason: reason)
            newKey = nil
        case Self.rotationKind:
            guard let next = StatementKey(der: try reader.take(StatementKey.byteCount)), next != key else {
                throw Self.malformed("has a new key that is none")
            }
            content = .rotation(to: next.nodeID)
            newKey = next
        default: throw Self.malformed("is of an unknown kind")
        }
        message = Self.label + bytes[..<(bytes.count - reader.bytes.count)]
        signature = try reader.counted()
        newSignature = newKey == nil ? [] : try reader.counted()
        guard Self.signatureBytes.contains(signature.count),
            newKey == nil || Self.signatureBytes.contains(newSignature.count)
        else { throw Self.malformed("has a signature of an impossible length") }
        guard reader.bytes.isEmpty else { throw Self.malformed("has bytes after its end") }
        self.bytes = bytes
        self.seconds = Int64(seconds)
        self.key = key
    }

    /// - Throws: `.notTrusted` when a signature is wrong.
    func verified() throws(KithError) -> TrustStatement {
        guard key.verifies(signature, of: message), newKey.map({ $0.verifies(newSignature, of: message) }) ?? true
        else { throw KithError(.notTrusted, "a statement of \(signer.short) has a wrong signature") }
        return TrustStatement(bytes: bytes, signer: signer, seconds: seconds, content: content)
    }

    /// Whether a reason can be said: short, and nothing in it changes what a terminal shows beside it.
    static func isFit(reason: String) -> Bool {
        reason.utf8.count <= TrustLimits.reasonBytesMax
            && reason.unicodeScalars.allSatisfy { scalar in
                switch scalar.properties.generalCategory {
                case .control, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned: false
                default: !scalar.properties.isBidiControl && !scalar.properties.isNoncharacterCodePoint
                }
            }
    }

    /// What is signed of a new statement, without the label: everything before the signatures.
    static func head(kind: UInt8, seconds: Int64, key: [UInt8], rest: [UInt8]) -> [UInt8] {
        let time = UInt64(clamping: min(seconds, secondsMax))
        return [version, kind] + (0..<8).map { UInt8(truncatingIfNeeded: time >> (56 - UInt64($0) * 8)) } + key + rest
    }

    /// What a signature is over.
    static func message(of head: [UInt8]) -> [UInt8] { label + head }

    private static func malformed(_ what: String) -> KithError {
        KithError(.protocolViolation, "a statement \(what)")
    }

    /// Takes pieces from the front.
    private struct Reader {
        var bytes: ArraySlice<UInt8>

        mutating func take(_ count: Int) throws(KithError) -> [UInt8] {
            guard bytes.count >= count else { throw StatementOutline.malformed("is cut off") }
            defer { bytes = bytes.dropFirst(count) }
            return Array(bytes.prefix(count))
        }

        mutating func byte() throws(KithError) -> UInt8 { try take(1)[0] }

        /// As many bytes as the first one says.
        mutating func counted() throws(KithError) -> [UInt8] { try take(Int(try byte())) }
    }
}
