/// What can be set for a connection.
public struct ConnectionOptions: Sendable {
    /// Seconds for finding the address and connecting to it.
    public var connectSeconds = TransportLimits.connectSecondsDefault
    /// Seconds for the TLS handshake, from the moment the connection is made.
    public var handshakeSeconds = TransportLimits.handshakeSecondsDefault
    /// Seconds without progress after which `close()` gives up on what the peer does not take.
    public var lingerSeconds = TransportLimits.lingerSecondsDefault
    /// Seconds that sent data may stay unacknowledged by the peer's machine (TCP_USER_TIMEOUT).
    public var userTimeoutSeconds = TransportLimits.userTimeoutSecondsDefault
    /// `onDrained` is called when the bytes that wait to be sent fall below this number.
    public var lowWatermarkBytes = TransportLimits.lowWatermarkBytesDefault
    /// Bytes of the kernel's send and receive buffers, or 0 for the kernel's own choice.
    public var kernelBufferBytes = 0

    /// The defaults.
    public init() {}
}
