/// A message to send: a request or a reply.
public struct BLIPOutgoing: Sendable, Equatable {
    /// Names with values.
    public var properties: BLIPProperties
    /// Everything after the properties.
    public var body: [UInt8]
    /// Whether it goes ahead of messages that are not urgent; a reply takes this from its request instead.
    public var isUrgent: Bool
    /// Requests only: no reply is wanted.
    public var isNoReply: Bool
    /// Whether it travels compressed.
    public var isCompressed: Bool

    /// Makes a message to send.
    public init(
        properties: BLIPProperties = BLIPProperties(), body: [UInt8] = [], isUrgent: Bool = false,
        isNoReply: Bool = false, isCompressed: Bool = false
    ) {
        self.properties = properties
        self.body = body
        self.isUrgent = isUrgent
        self.isNoReply = isNoReply
        self.isCompressed = isCompressed
    }
}
