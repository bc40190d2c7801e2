import KithDocuments

/// An invitation as a QR code holds it: the code, and where the machine is that gave it.
///
///     kith:join/1?code=7-harbor-desert-bridge&id=K7QX-2M9F&at=192.168.1.20:4984&name=kitchen-pi
///
/// All but the code are hints; who has given the code is proved by knowing it. It is a secret as the code is: neither its description nor
/// a reflection of it shows it. docs/protocol/pairing.md has the grammar.
public struct InvitationURI: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    /// What is typed, good once.
    public let code: InvitationCode
    /// The short ID of the machine that gave it.
    public private(set) var shortID: String?
    /// Where it may be: `ADDRESS:PORT` each, best first.
    public private(set) var addresses: [String] = []
    /// What it calls itself, for people.
    public private(set) var name: String?

    private static let scheme = "kith:join/1?"

    /// Makes one with as many of the hints as fit into `TrustLimits.invitationURIBytesWanted`, so that the picture stays small.
    public init(code: InvitationCode, shortID: String? = nil, addresses: [String] = [], name: String? = nil) {
        self.code = code
        self.shortID = shortID
        for address in addresses where self.addresses.count < TrustLimits.invitationURIAddressesMax {
            self.addresses.append(address)
            if !isSmall, self.addresses.count > 1 { self.addresses.removeLast() }
        }
        // Where it is matters more than how it is called.
        self.name = name
        if !isSmall { self.name = nil }
    }

    private var isSmall: Bool { text.utf8.count <= TrustLimits.invitationURIBytesWanted }

    /// Reads what a person has typed or a camera has seen: this, or the code alone.
    ///
    /// - Throws: `.badRequest` saying what is wrong.
    public init(parsing text: String) throws(KithError) {
        func bad(_ what: String) -> KithError {
            KithError(
                .badRequest, "that is no invitation: \(what)",
                remedy: "Type the code alone, such as 7-harbor-desert-bridge")
        }
        let bytes = Array(text.utf8.drop { $0 == UInt8(ascii: " ") })
        guard String(decoding: bytes.prefix(5), as: UTF8.self).lowercased() == "kith:" else {
            self.code = try InvitationCode(parsing: text)
            return
        }
        guard bytes.count <= TrustLimits.invitationURIBytesMax else { throw bad("it is too long") }
        let head = bytes.prefix(Self.scheme.utf8.count)
        guard String(decoding: head, as: UTF8.self).lowercased() == Self.scheme else {
            throw bad("it does not begin with \(Self.scheme), so a newer version may have made it")
        }
        var found: InvitationCode?
        for part in bytes[head.count...].split(separator: UInt8(ascii: "&")) {
            guard let equals = part.firstIndex(of: UInt8(ascii: "=")), let value = Self.decoded(part[(equals + 1)...])
            else { throw bad("it has a part that cannot be read") }
            switch String(decoding: part[..<equals], as: UTF8.self) {
            case "code" where found == nil: found = try InvitationCode(parsing: value)
            case "id" where shortID == nil && Self.isShortID(value): shortID = value
            case "at" where addresses.count < TrustLimits.invitationURIAddressesMax && !value.isEmpty:
                addresses.append(value)
            // It decides nothing.
            case "name": name = (try? NodeName.check(value)) == nil ? nil : value
            case "code", "id", "at": throw bad("it has a part twice, or one that is none")
            // What a later version adds.
            default: break
            }
        }
        guard let found else { throw bad("it has no code") }
        code = found
    }

    /// As a QR code holds it.
    public var text: String {
        var parts = ["code=" + code.text]
        if let shortID { parts.append("id=" + shortID) }
        parts += addresses.map { "at=" + Self.encoded($0) }
        if let name { parts.append("name=" + Self.encoded(name)) }
        return Self.scheme + parts.joined(separator: "&")
    }

    /// Not the code.
    public var description: String { "InvitationURI(hidden)" }
    /// Nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }

    private static func isShortID(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard bytes.count == 9, bytes[4] == UInt8(ascii: "-") else { return false }
        return (bytes[..<4] + bytes[5...]).allSatisfy(CheckedBase32.alphabet.contains)
    }

    private static func encoded(_ text: String) -> String {
        PercentEncoding.text(text, keeping: UInt8(ascii: ":"))
    }

    private static func decoded(_ bytes: ArraySlice<UInt8>) -> String? {
        PercentEncoding.bytes(bytes).flatMap { String(validating: $0, as: UTF8.self) }
    }
}
