/// What this node says about itself on the network.
public struct ServiceAdvertisement: Sendable, Equatable {
    /// The service type (RFC 6763 §7).
    public static let serviceType = "_kith._tcp"

    /// The node's name; cut to 63 bytes on a character border, and changed where another node has it.
    public let name: String
    /// The TCP port that peers dial.
    public let port: UInt16
    /// The node ID's short form, with or without its dash: `K7QX-2M9F`.
    public let nodeShortID: String
    /// The version of the protocol that the node speaks, `v` in the TXT record.
    public let protocolVersion: Int

    /// Makes an advertisement.
    public init(name: String, port: UInt16, nodeShortID: String, protocolVersion: Int = 1) {
        self.name = name
        self.port = port
        self.nodeShortID = nodeShortID
        self.protocolVersion = protocolVersion
    }
}
