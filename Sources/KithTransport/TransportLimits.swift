/// Every number of this room, each with its effect.
public enum TransportLimits {
    /// Bytes of the one read buffer that all connections of the loop share: the largest piece `onReceive` gets.
    public static let readBufferBytes = 128 * 1024
    /// Bytes one connection may read in one turn of the loop before the others have theirs.
    public static let readBytesPerTurnMax = 256 * 1024
    /// Bytes one connection may write in one turn of the loop before the others have theirs.
    public static let writeBytesPerTurnMax = 256 * 1024
    /// Bytes handed to the kernel or to TLS in one call.
    static let writeChunkBytes = 64 * 1024
    /// Bytes of consumed output after which the rest is moved to the front of its buffer.
    static let outputCompactionBytes = 64 * 1024
    /// Bytes of an empty output buffer's memory that are kept for the next write.
    static let outputKeptBytesMax = 320 * 1024
    /// Bytes taken from the kernel at once for TLS: several records come with one system call.
    static let readAheadBytes = 128 * 1024
    /// Bytes of TLS records that are collected and given to the kernel with one system call.
    static let gatheredBytesMax = 128 * 1024
    /// A TLS record at its largest (RFC 8446, section 5.2, and RFC 5246, section 6.2.3), with its header.
    static let tlsRecordBytesMax = 16 * 1024 + 2_048 + 5
    /// Bytes of certificates a peer may send in the handshake; a node's chain is one certificate.
    static let peerCertificateBytesMax = 16 * 1024

    /// Default of `ConnectionOptions.lowWatermarkBytes`: `onDrained` is called when less than this waits to be sent.
    public static let lowWatermarkBytesDefault = 64 * 1024
    /// Default time in seconds for finding the address and connecting to it.
    public static let connectSecondsDefault = 10.0
    /// Default time in seconds for the whole TLS handshake; who has not finished by then is cut off.
    public static let handshakeSecondsDefault = 10.0
    /// Default time in seconds without progress after which `close()` gives up on what is not yet sent.
    public static let lingerSecondsDefault = 5.0
    /// Time in seconds a refused peer has to take the alert before the socket is closed under it.
    static let refusalLingerSecondsMax = 2.0
    /// Default time in seconds that sent data may stay unacknowledged before the kernel gives the connection up.
    public static let userTimeoutSecondsDefault = 30.0
    /// Seconds of silence after which the kernel asks whether the peer is still there.
    static let keepAliveIdleSeconds: Int32 = 15
    /// Seconds between two such questions.
    static let keepAliveIntervalSeconds: Int32 = 5
    /// Unanswered questions after which the kernel gives the connection up (with the above: 35 seconds).
    static let keepAliveProbesMax: Int32 = 4

    /// Connections a listener accepts in one turn of the loop.
    static let acceptsPerTurnMax = 64
    /// Connections that may wait in the kernel to be accepted.
    static let backlogMax: Int32 = 512
    /// Default number of connections of one listener; more wait in the kernel until one ends.
    public static let connectionsMaxDefault = 512
    /// Default number of connections of one listener within the handshake; one more cuts off the oldest of them.
    public static let handshakesMaxDefault = 64
    /// Seconds until a listener that is out of file descriptors tries again.
    static let acceptPauseSeconds = 0.25

    /// Seconds between a change of the network and the look at what has come: changes come in groups.
    static let networkSettleSeconds = 0.2

    /// Events taken from the kernel in one turn of the loop.
    static let eventsPerTurnMax = 256
    /// Name lookups at the same time, each on a thread of its own; more wait.
    static let lookupsMax = 4
    /// Bytes of a host name (RFC 1035, section 2.3.4).
    static let hostNameBytesMax = 253
    /// Tries, 10 ms apart, to get the lock on a socket's folder before another node is taken to be starting.
    static let folderLockTriesMax = 100
}
