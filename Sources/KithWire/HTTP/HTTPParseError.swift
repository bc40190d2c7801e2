import KithDocuments

/// Why a stream is not HTTP/1.1 that can be followed. Nothing after it can be trusted: a server answers with
/// ``status`` and ends the connection.
public struct HTTPParseError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The status that a server answers: 400, 413, 414, 431, 501 or 505.
    public let status: Int
    /// What was wrong, one sentence without a full stop; it repeats nothing that came.
    public let reason: String

    init(_ status: Int = 400, _ reason: String) {
        self.status = status
        self.reason = reason
    }

    /// Reason and status, for logs.
    public var description: String { "\(reason) (HTTP \(status))" }

    /// The error as the rest of the library knows it.
    public var kithError: KithError {
        let code: ErrorCode =
            switch status {
            case 413, 414, 431: .tooLarge
            case 501, 505: .notImplemented
            default: .badRequest
            }
        return KithError(code, "The HTTP message cannot be read: \(reason)")
    }
}
