/// A node that was found on the network. All of it is what somebody there claims: it says where to dial, never whom to
/// trust.
public struct DiscoveredNode: Sendable, Hashable {
    /// The service's instance name, 1 to 63 bytes without control characters; with `interface` it names the service in
    /// `lost` events.
    public let instanceName: String
    /// The short node ID that it claims, in the form of `NodeID.short`; empty when a node of an unknown protocol version
    /// gave none that could be read.
    public let shortID: String
    /// The protocol version that it claims.
    public let protocolVersion: Int
    /// Its addresses on this interface, without port: IPv4 first, then IPv6, then link-local IPv6 with `%interface`.
    public let addresses: [String]
    /// Its TCP port.
    public let port: UInt16
    /// The name of the network interface of this machine on which it was seen.
    public let interface: String
    /// Whether it claims the short ID of this very node: then it is this node seen by itself, and must not be dialled.
    public let isOwn: Bool

    /// Makes a value, for tests and for stand-ins of discovery.
    public init(
        instanceName: String, shortID: String, protocolVersion: Int = 1, addresses: [String], port: UInt16,
        interface: String, isOwn: Bool = false
    ) {
        self.instanceName = instanceName
        self.shortID = shortID
        self.protocolVersion = protocolVersion
        self.addresses = addresses
        self.port = port
        self.interface = interface
        self.isOwn = isOwn
    }

    /// Its addresses as `HOST:PORT`, IPv6 in brackets.
    public var dialAddresses: [String] {
        addresses.map { $0.utf8.contains(UInt8(ascii: ":")) ? "[\($0)]:\(port)" : "\($0):\(port)" }
    }
}
