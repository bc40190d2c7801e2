/// Which end of a WebSocket connection a machine is (RFC 6455 §5.1): a client masks what it sends, a server does not.
public enum WebSocketRole: Sendable, Equatable {
    /// The end that sent the upgrade request.
    case client
    /// The end that answered it.
    case server
}
