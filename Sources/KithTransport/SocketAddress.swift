import CLinux
import Glibc
import KithDocuments

/// A TCP address: an IPv4 or IPv6 address, or a host name that is looked up when it is dialled, and a port.
///
/// Written `192.168.1.5:4984`, `[fd00::7]:4984`, `[fe80::1%eth0]:4984` (the scope of a link-local address, RFC 4007
/// section 11) or `box.local:4984`. Equal addresses have equal text.
public struct SocketAddress: Hashable, Sendable, CustomStringConvertible {
    enum Host: Hashable {
        case ipv4([UInt8])
        /// The scope is the interface's name or number as text, and empty where there is none.
        case ipv6([UInt8], scope: String)
        case name(String)
    }

    let hostValue: Host
    /// The port, 0 where a listener takes any free one.
    public let port: UInt16

    init(hostValue: Host, port: UInt16) {
        self.hostValue = hostValue
        self.port = port
    }

    /// All addresses of this machine, IPv4 and IPv6, as a listener takes them.
    public static func anyHost(port: UInt16) -> SocketAddress {
        SocketAddress(hostValue: .ipv6([UInt8](repeating: 0, count: 16), scope: ""), port: port)
    }

    /// The machine itself, 127.0.0.1.
    public static func loopback(port: UInt16) -> SocketAddress {
        SocketAddress(hostValue: .ipv4([127, 0, 0, 1]), port: port)
    }

    /// Makes an address from a host without port: an IPv4 or IPv6 address (with or without brackets), or a host name.
    ///
    /// - Throws: `.badConfiguration` when the text is neither.
    public init(host: String, port: UInt16) throws(KithError) {
        var text = Substring(host)
        if text.hasPrefix("["), text.hasSuffix("]") { text = text.dropFirst().dropLast() }
        let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        if let bytes = Self.parseIPv4(String(text)) {
            self.init(hostValue: .ipv4(bytes), port: port)
        } else if let first = parts.first, let bytes = Self.parseIPv6(String(first)) {
            let scope = parts.count == 2 ? String(parts[1]) : ""
            guard parts.count == 1 || Self.isScope(scope) else { throw Self.unusable(host) }
            self.init(hostValue: Self.unmapped(bytes, scope: scope), port: port)
        } else if Self.isHostName(text) {
            self.init(hostValue: .name(String(text)), port: port)
        } else {
            throw Self.unusable(host)
        }
    }

    /// Reads `HOST:PORT`, or `HOST` alone where a default port is given.
    ///
    /// - Throws: `.badConfiguration` when the text is not an address, or has no port and none is given.
    public init(parsing text: String, defaultPort: UInt16? = nil) throws(KithError) {
        let bytes = Array(text.utf8)
        let colon = UInt8(ascii: ":")
        var host = text
        var port = defaultPort
        let isBareIPv6 = bytes.first != UInt8(ascii: "[") && bytes.count(where: { $0 == colon }) > 1
        if !isBareIPv6, let last = bytes.lastIndex(of: colon), !bytes[last...].contains(UInt8(ascii: "]")) {
            let digits = bytes[(last + 1)...]
            guard !digits.isEmpty, digits.count <= 5, digits.allSatisfy({ (48...57).contains($0) }),
                let number = UInt16(String(decoding: digits, as: UTF8.self))
            else { throw Self.unusable(text) }
            port = number
            host = String(decoding: bytes[..<last], as: UTF8.self)
        }
        guard let port else {
            throw KithError(
                .badConfiguration, "The address \(quoted(text)) has no port",
                remedy: "Write HOST:PORT, such as \(text):4984")
        }
        try self.init(host: host, port: port)
    }

    /// The same host with another port.
    public func withPort(_ port: UInt16) -> SocketAddress { SocketAddress(hostValue: hostValue, port: port) }

    /// The host as text, an IPv6 address without brackets.
    public var host: String {
        switch hostValue {
        case .ipv4(let bytes): Self.print(AF_INET, bytes)
        case .ipv6(let bytes, let scope): Self.print(AF_INET6, bytes) + (scope.isEmpty ? "" : "%" + scope)
        case .name(let name): name
        }
    }

    /// The host for counting: all addresses of the loopback are one, since whoever is on this machine has all of them.
    public var countedHost: String { isLoopback ? "loopback" : host }

    /// The network for counting, of which one machine may have every address: of an IPv6 address the first 64 bits (RFC 4291, 2.5.4);
    /// else it is the host.
    public var countedNetwork: String {
        guard case .ipv6(let bytes, _) = hostValue, !isLoopback else { return countedHost }
        return Self.print(AF_INET6, Array(bytes[..<8]) + [UInt8](repeating: 0, count: 8)) + "/64"
    }

    /// Whether the host is a name that must be looked up.
    public var isName: Bool {
        if case .name = hostValue { return true }
        return false
    }

    /// Whether the host is the machine itself (127.0.0.0/8 or ::1).
    public var isLoopback: Bool {
        switch hostValue {
        case .ipv4(let bytes): bytes[0] == 127
        case .ipv6(let bytes, _): bytes.dropLast().allSatisfy { $0 == 0 } && bytes[15] == 1
        case .name: false
        }
    }

    /// Whether it is a link-local IPv6 address (fe80::/10) without its interface, which cannot be dialled (RFC 4007 §6).
    public var needsScope: Bool {
        guard case .ipv6(let bytes, scope: "") = hostValue else { return false }
        return bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80
    }

    /// The address as it is read.
    public var description: String {
        if case .ipv6 = hostValue { return "[\(host)]:\(port)" }
        return "\(host):\(port)"
    }

    // MARK: Parts

    private static func unusable(_ text: String) -> KithError {
        KithError(
            .badConfiguration, "\(quoted(text)) is not an address",
            remedy: "Write HOST:PORT, such as 192.168.1.5:4984, [fe80::1%eth0]:4984 or box.local:4984")
    }

    private static func parseIPv4(_ text: String) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 4)
        return inet_pton(AF_INET, text, &bytes) == 1 ? bytes : nil
    }

    private static func parseIPv6(_ text: String) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 16)
        return inet_pton(AF_INET6, text, &bytes) == 1 ? bytes : nil
    }

    /// An IPv4 address that a dual-stack socket shows as `::ffff:1.2.3.4` is that IPv4 address (RFC 4291, 2.5.5.2).
    static func unmapped(_ bytes: [UInt8], scope: String) -> Host {
        let prefix: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]
        return bytes.starts(with: prefix) ? .ipv4(Array(bytes[12...])) : .ipv6(bytes, scope: scope)
    }

    private static func print(_ family: Int32, _ bytes: [UInt8]) -> String {
        var buffer = [CChar](repeating: 0, count: 64)
        _ = inet_ntop(family, bytes, &buffer, socklen_t(buffer.count))
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static func isScope(_ text: String) -> Bool {
        let bytes = text.utf8
        return (1..<Int(IF_NAMESIZE)).contains(bytes.count)
            && bytes.allSatisfy { $0 > 32 && $0 < 127 && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "]") }
    }

    private static func isHostName(_ text: Substring) -> Bool {
        let bytes = text.utf8
        guard (1...TransportLimits.hostNameBytesMax).contains(bytes.count) else { return false }
        // Only digits and dots would be a mistyped IPv4 address, which the resolver reads in strange ways.
        guard bytes.contains(where: { !(48...57).contains($0) && $0 != UInt8(ascii: ".") }) else { return false }
        guard bytes.first != UInt8(ascii: "-"), bytes.first != UInt8(ascii: ".") else { return false }
        return bytes.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), 48...57,
                UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                true
            default: byte >= 128
            }
        }
    }
}

/// Text from outside as it may be shown in one line.
func quoted(_ text: String) -> String {
    "“"
        + String(
            String.UnicodeScalarView(
                text.unicodeScalars.prefix(300).map { $0.value < 32 || $0.value == 127 ? "\u{FFFD}" : $0 })) + "”"
}
