/// What came over a WebSocket connection. Buffers are borrowed: valid only until the callback returns.
public enum WebSocketEvent {
    /// A whole message; text is valid UTF-8.
    case message(WebSocketOpcode, UnsafeRawBufferPointer)
    /// Answer at once with a pong that holds the same payload: ``WebSocketMachine/appendPong(_:to:)``.
    case ping(UnsafeRawBufferPointer)
    /// The answer to a ping, or one that nobody asked for.
    case pong(UnsafeRawBufferPointer)
    /// The peer closes; a message of which only a part had come is dropped. Answer with
    /// ``WebSocketMachine/appendClose(code:reason:to:)`` unless a close was sent before, then end the connection. The
    /// code is `nil` when the peer gave none. Nothing comes after this.
    case close(code: UInt16?, reason: String)
}
