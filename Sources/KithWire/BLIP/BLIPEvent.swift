/// What a frame completed or brought.
public enum BLIPEvent: Sendable {
    /// The peer asks. Unless ``BLIPMessage/isNoReply`` is set it must be answered exactly once.
    case request(BLIPMessage)
    /// The peer answered the request that was sent with this tag; look at ``BLIPMessage/error``.
    case response(tag: UInt64, BLIPMessage)
    /// The next bytes of the body of a response that is handed out as it comes. Behind the last of them comes
    /// ``response(tag:_:)``, without a body.
    case responsePart(tag: UInt64, [UInt8])
}
