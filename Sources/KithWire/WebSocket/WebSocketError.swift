import KithDocuments

/// How the peer broke RFC 6455, with the close code that tells it. The connection cannot go on: send a close frame with
/// this code and reason, then end it.
public struct WebSocketError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The close code to send: 1002, 1007 or 1009 (RFC 6455 §7.4.1).
    public let closeCode: UInt16
    /// What was wrong, short enough for a close frame.
    public let reason: String

    static func violation(_ reason: String) -> WebSocketError {
        WebSocketError(closeCode: WebSocketCloseCode.protocolError, reason: reason)
    }

    static let notUTF8 = WebSocketError(closeCode: WebSocketCloseCode.invalidPayload, reason: "text is not UTF-8")

    static func tooLarge(limitBytes: Int) -> WebSocketError {
        WebSocketError(
            closeCode: WebSocketCloseCode.tooLarge, reason: "a message is larger than \(limitBytes) bytes")
    }

    /// Reason and code, for logs.
    public var description: String { "\(reason) (WebSocket \(closeCode))" }

    /// The error as the rest of the library knows it.
    public var kithError: KithError {
        let code: ErrorCode = closeCode == WebSocketCloseCode.tooLarge ? .tooLarge : .protocolViolation
        return KithError(code, "The peer broke the WebSocket protocol: \(reason)")
    }
}
