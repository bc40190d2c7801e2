import KithDocuments

/// Why an upgrade to WebSocket is refused.
public struct WebSocketHandshakeError: Error, Sendable, Equatable, CustomStringConvertible {
    /// As server: the status to answer, 400, 405 or 426. As client: the status that came, 101 when the response itself
    /// was 101 but wrong.
    public let status: Int
    /// What was wrong, one sentence without a full stop.
    public let reason: String

    /// Reason and code, for logs.
    public var description: String { "\(reason) (HTTP \(status))" }

    /// The error as the rest of the library knows it.
    public var kithError: KithError {
        let code: ErrorCode =
            switch status {
            case 401, 403: .notTrusted
            case 404: .databaseNotFound
            case 408, 429, 502, 503, 504: .connectionLost
            default: .protocolViolation
            }
        return KithError(code, "The WebSocket handshake failed: \(reason)")
    }

    /// The response with which a server tells the client; the reason is its body, to be appended after the head.
    public var responseHead: HTTPResponseHead {
        var headers: HTTPHeaders = [
            "Content-Type": "text/plain; charset=utf-8", "Content-Length": String(reason.utf8.count),
            "Connection": "close",
        ]
        if status == 426 {
            headers.add("Upgrade", "websocket")
            headers.add("Sec-WebSocket-Version", "13")
        }
        if status == 405 { headers.add("Allow", "GET") }
        return HTTPResponseHead(status: status, headers: headers)
    }
}
