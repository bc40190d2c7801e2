import KithDocuments

/// Why a BLIP connection cannot go on. After any of these nothing that comes later can be trusted: checksum and inflater
/// have lost their place (blip.md §12).
public enum BLIPError: Error, Sendable, Equatable {
    /// The frame is empty, or its number, flags or acknowledged count run off its end.
    case malformedHeader
    /// The frame ends before its checksum.
    case truncatedFrame
    /// The running checksum does not match.
    case checksumMismatch
    /// The payload is not raw DEFLATE that ends in a sync flush.
    case inflateFailed
    /// One frame inflates to more than the limit.
    case inflatedFrameTooLarge(limitBytes: Int)
    /// A new request does not have the next number.
    case requestOutOfOrder(expected: UInt64, got: UInt64)
    /// A response to a request that was not sent, wants no reply, or has been answered.
    case unexpectedResponse(number: UInt64)
    /// The first frame of a message does not hold the length of its properties, or the message ends inside them, or they
    /// are not pairs of texts that end in NUL.
    case malformedProperties(number: UInt64)
    /// The property block is longer than the limit.
    case propertiesTooLarge(limitBytes: Int)
    /// More messages are open at once than the limit.
    case tooManyOpenMessages(limit: Int)
    /// Unfinished messages hold more bytes than the limit.
    case tooManyOpenBytes(limitBytes: Int)
    /// More requests wait for a reply than the limit.
    case tooManyUnansweredRequests(limit: Int)
    /// The machine has no memory for a compressor.
    case outOfMemory
    /// The connection was given up by its owner: ``BLIPConnection/abandon()``.
    case abandoned

    /// The WebSocket close code that tells the peer (RFC 6455 §7.4.1).
    public var webSocketCloseCode: UInt16 {
        switch self {
        case .inflatedFrameTooLarge, .propertiesTooLarge, .tooManyOpenBytes: 1009
        case .tooManyOpenMessages, .tooManyUnansweredRequests: 1008
        case .outOfMemory: 1011
        case .abandoned: 1000
        default: 1002
        }
    }

    /// The error as the rest of the library knows it.
    public var kithError: KithError {
        KithError(.protocolViolation, "The peer's BLIP stream cannot be followed: \(self)")
    }
}
