import KithDocuments

/// Why a machine wants its link closed.
public struct ReplicationEnd: Sendable {
    /// The WebSocket close code (RFC 6455 §7.4, and 4001: come again, 4002: do not).
    public let closeCode: UInt16
    /// One sentence for the log and the peer.
    public let reason: String
    /// What kind of error it is.
    public let code: ErrorCode

    /// Makes a reason to close.
    public init(closeCode: UInt16, reason: String, code: ErrorCode) {
        self.closeCode = closeCode
        self.reason = reason
        self.code = code
    }
}
