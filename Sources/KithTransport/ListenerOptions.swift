/// What can be set for a listener.
public struct ListenerOptions: Sendable {
    /// Connections at the same time; more wait in the kernel until one ends.
    public var connectionsMax = TransportLimits.connectionsMaxDefault
    /// Connections within the handshake at the same time; one more cuts off the oldest of them, so that silent peers
    /// cannot keep others out.
    public var handshakesMax = TransportLimits.handshakesMaxDefault
    /// Options of the connections.
    public var connection = ConnectionOptions()

    /// The defaults.
    public init() {}
}
