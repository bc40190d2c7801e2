// Every number of this room that bounds or tunes something, with its effect. Where a number is a default, the `limits`
// argument of the machine that uses it can set another one.

/// Limits and tuning numbers of the wire formats.
public enum WireLimits {
    // BLIP

    /// A BLIP frame as it is normally sent, header and checksum included. Sync Gateway closes a connection at 32,768
    /// bytes, so no frame is ever larger.
    public static let blipBigFrameBytes = 16_384
    /// A frame of a message that is not urgent while an urgent one waits behind it: small, so that the wait is short.
    public static let blipSmallFrameBytes = 4_096
    /// A message is acknowledged each time so many more of its bytes have come (blip.md §10; the number is the
    /// protocol's).
    public static let blipAcknowledgeEveryBytes = 50_000
    /// Sending a message pauses when so many of its bytes are not acknowledged (the number is the protocol's).
    public static let blipUnacknowledgedBytesMax = 128_000
    /// When fewer bytes of a pulled body are at hand, its owner is asked for the next piece: about as much as the peer leaves
    /// unacknowledged, so that reading the piece and sending go on side by side.
    public static let blipPulledBytesLow = 131_072
    /// How hard the sender compresses, 1 (fast) to 9 (small). JSON of 10 KiB takes half the time that level 6 takes, and is an
    /// eighth larger.
    public static let blipCompressionLevel: Int32 = 1
    /// zlib's memory level: 8 takes 256 KiB for a deflater and gives a tight bound for incompressible data.
    public static let blipCompressionMemoryLevel: Int32 = 8
    /// A compressed frame takes no further input when less room than this is left in it.
    public static let blipCompressedFrameRoomBytesMin = 1_024
    /// A compressed frame takes at most so much input: bounds the time for one frame, however well the data compresses.
    public static let blipPlainBytesPerFrameMax = 262_144
    /// The property block of one message; a longer one ends the connection. Couchbase Lite has the same limit.
    public static let blipPropertyBytesMax = 102_400
    /// The body of one incoming message. The bytes beyond it are dropped while they arrive, and the message is
    /// delivered without a body (``BLIPMessage/droppedBodyBytes``), so that its request can be answered with an error.
    /// Holds a document of 20 MiB with its envelope.
    public static let blipMessageBytesMax = 21 << 20
    /// What one incoming frame may inflate to; more ends the connection.
    public static let blipInflatedFrameBytesMax = 24 << 20
    /// Incoming messages that have begun and not ended; more end the connection.
    public static let blipOpenMessagesMax = 512
    /// When unfinished incoming messages hold more than this, only the oldest is acknowledged further: the others pause
    /// at the sender, and memory stays bounded without ending the connection.
    public static let blipOpenBytesSoftMax = 24 << 20
    /// When unfinished incoming messages hold more than this in spite of the pause, the connection ends.
    public static let blipOpenBytesMax = 128 << 20
    /// Incoming requests that wait for their reply; more end the connection.
    public static let blipUnansweredRequestsMax = 8_192
    /// The piece in which compressed frames are inflated: a buffer of this size is kept per connection that needs it.
    public static let blipInflateBufferBytes = 32_768

    // WebSocket

    /// The largest message that is taken; a larger one closes with 1009. Couchbase Lite takes as much; BLIP needs
    /// ``blipBigFrameBytes``.
    public static let webSocketMessageBytesMax = 1 << 20
    /// The payload of a control frame (RFC 6455 §5.5; the number is the protocol's).
    public static let webSocketControlBytesMax = 125

    // HTTP

    /// Start line and header fields of one message; more is refused with 431.
    public static let httpHeadBytesMax = 32_768
    /// Header fields of one message; more are refused with 431.
    public static let httpHeaderFieldsMax = 100
    /// The target of a request; a longer one is refused with 414.
    public static let httpTargetBytesMax = 8_192
    /// The method's name; a longer one is refused with 501.
    public static let httpMethodBytesMax = 24
    /// The body of one message unless the owner sets another limit; more is refused with 413.
    public static let httpBodyBytesMax = 32 << 20
    /// The line before a chunk: its size and extensions, which are ignored. A longer one is refused.
    public static let httpChunkLineBytesMax = 256
    /// The trailer fields after the last chunk, which are ignored. Longer ones are refused with 431.
    public static let httpTrailerBytesMax = 8_192
    /// Interim responses (1xx) before the final one; more are refused.
    public static let httpInterimResponsesMax = 16
    /// A body event carries at most so many bytes, however much has come.
    public static let httpBodyEventBytesMax = 65_536
}
