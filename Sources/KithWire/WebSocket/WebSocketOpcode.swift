/// What a WebSocket message holds (RFC 6455 §5.6).
public enum WebSocketOpcode: UInt8, Sendable, Equatable {
    /// UTF-8 text.
    case text = 0x1
    /// Any bytes: what BLIP uses.
    case binary = 0x2
}
