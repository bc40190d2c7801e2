/// What a frame completed.
public enum BLIPEvent: Sendable {
    /// The peer asks. Unless ``BLIPMessage/isNoReply`` is set it must be answered exactly once.
    case request(BLIPMessage)
    /// The peer answered the request that was sent with this tag; look at ``BLIPMessage/error``.
    case response(tag: UInt64, BLIPMessage)
}
