import KithDocuments
import KithTransport

/// The URL of a database of a CouchDB server, taken apart: what is shown and written has no credentials in it.
public struct CouchDBAddress: Sendable, Hashable, CustomStringConvertible {
    /// The URL without credentials, in one spelling: what names the server in status, logs and records.
    public let url: String
    /// Whether what travels is encrypted.
    public let isEncrypted: Bool
    /// The user in the URL, if there was one.
    public let user: String?
    /// Whether there was a password in the URL.
    public var hasPassword: Bool { credentials != nil }
    /// The user and the password of the URL, if both were there.
    let credentials: HTTPCredentials?

    /// The URL without credentials.
    public var description: String { url }

    /// Whether a text is meant as such a URL, and not as the name of a database or a peer.
    public static func isURL(_ text: String) -> Bool {
        let start = text.utf8.prefix(8).map { $0 | 0x20 }
        return start.starts(with: "http://".utf8.map { $0 | 0x20 })
            || start.starts(with: "https://".utf8.map { $0 | 0x20 })
    }

    /// Takes a URL apart: `http` or `https`, perhaps a user and a password, a host, perhaps a port, and the path of a
    /// database (RFC 3986).
    ///
    /// - Throws: `.badRequest`, which never shows what stands before an `@`.
    public init(parsing text: String) throws(KithError) {
        guard Self.isURL(text), let colon = text.firstIndex(of: ":") else {
            throw Self.wrong("it does not begin with https:// or http://")
        }
        guard text.utf8.count <= NodeLimits.couchDBURLBytesMax else {
            throw Self.wrong("it has more than \(NodeLimits.couchDBURLBytesMax) bytes")
        }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }) else {
            throw Self.wrong("it has blanks or characters that must be percent-encoded")
        }
        let scheme = text[..<colon].lowercased()
        let rest = text[text.index(colon, offsetBy: 3)...]
        guard !rest.contains("?"), !rest.contains("#") else { throw Self.wrong("it has a query or a fragment") }
        guard let slash = rest.firstIndex(of: "/") else { throw Self.wrong("it names no database") }
        var authority = rest[..<slash]
        var user: String?
        var credentials: HTTPCredentials?
        if let at = authority.lastIndex(of: "@") {
            let parts = authority[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decoded(parts[0]), !name.isEmpty, !name.contains(":") else {
                throw Self.wrong("its user cannot be read")
            }
            user = name
            if parts.count == 2 {
                guard let password = Self.decoded(parts[1]) else { throw Self.wrong("its password cannot be read") }
                credentials = HTTPCredentials(user: name, password: password)
            }
            authority = authority[authority.index(after: at)...]
        }
        let (host, port) = try Self.host(authority)
        var path = rest[slash...]
        while path.hasSuffix("/") { path = path.dropLast() }
        guard !path.isEmpty else { throw Self.wrong("it names no database") }
        guard !path.split(separator: "/").contains(where: { $0 == "." || $0 == ".." }) else {
            throw Self.wrong("its path has . or .. in it")
        }
        isEncrypted = scheme == "https"
        let isDefault = port == nil || port == (isEncrypted ? 443 : 80)
        url = "\(scheme)://\(host)\(isDefault ? "" : ":\(port ?? 0)")\(path)"
        self.user = user
        self.credentials = credentials
    }

    private static func host(_ authority: Substring) throws(KithError) -> (host: String, port: UInt16?) {
        var host = authority
        var port: UInt16?
        let end = authority.lastIndex(of: "]")
        if let colon = authority.lastIndex(of: ":"), end.map({ colon > $0 }) ?? true {
            host = authority[..<colon]
            guard let number = UInt16(authority[authority.index(after: colon)...]), number > 0 else {
                throw wrong("its port is no number from 1 to 65535")
            }
            port = number
        }
        let isLiteral = host.hasPrefix("[")
        let isLegal = host.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"): true
            case UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: "]"): isLiteral
            default: false
            }
        }
        guard !host.isEmpty, isLegal else { throw wrong("its host cannot be read") }
        return (host.lowercased(), port)
    }

    private static func decoded(_ text: Substring) -> String? {
        guard let bytes = PercentEncoding.bytes(text.utf8), !bytes.contains(0) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func wrong(_ problem: String) -> KithError {
        KithError(
            .badRequest, "this is not the URL of a database: \(problem)",
            remedy: "Write it like https://couch.example:6984/orders")
    }

    /// Whether both name the same database as the same user.
    public static func == (a: CouchDBAddress, b: CouchDBAddress) -> Bool {
        a.url.utf8.elementsEqual(b.url.utf8) && a.user == b.user && a.credentials == b.credentials
    }

    /// Hashes what is shown.
    public func hash(into hasher: inout Hasher) { hasher.combine(url) }
}
