/// The bounds of one BLIP connection, where they may differ from the defaults in ``WireLimits``.
public struct BLIPLimits: Sendable {
    /// The longest property block of an incoming message, in bytes.
    public var propertyBytesMax = WireLimits.blipPropertyBytesMax
    /// The longest body of an incoming message, in bytes; a longer one is dropped, see ``BLIPMessage/droppedBodyBytes``.
    public var messageBytesMax = WireLimits.blipMessageBytesMax
    /// The most bytes that one incoming frame may inflate to.
    public var inflatedFrameBytesMax = WireLimits.blipInflatedFrameBytesMax
    /// The most incoming messages that have begun and not ended.
    public var openMessagesMax = WireLimits.blipOpenMessagesMax
    /// The bytes held by unfinished incoming messages from which on only the oldest is acknowledged.
    public var openBytesSoftMax = WireLimits.blipOpenBytesSoftMax
    /// The most bytes held by unfinished incoming messages.
    public var openBytesMax = WireLimits.blipOpenBytesMax
    /// The most incoming requests that wait for their reply.
    public var unansweredRequestsMax = WireLimits.blipUnansweredRequestsMax
    /// How hard outgoing messages that ask for it are compressed, 1 to 9.
    public var compressionLevel = WireLimits.blipCompressionLevel

    /// The defaults.
    public init() {}
}
