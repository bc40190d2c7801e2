/// The bounds of one WebSocket connection, where they may differ from the defaults in ``WireLimits``.
public struct WebSocketLimits: Sendable {
    /// The largest incoming message, in bytes, all its fragments together.
    public var messageBytesMax = WireLimits.webSocketMessageBytesMax

    /// The defaults.
    public init() {}
}
