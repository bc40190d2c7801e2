/// The limits of requests of HTTP, each with what follows from it.
public enum HTTPClientLimits {
    /// Connections that are kept for later requests.
    static let idleConnectionsMax = 16
    /// Making a connection, TLS included, takes at most so long.
    static let connectSecondsMax = 30
    /// Bytes of all header fields of an answer.
    static let headerBytesMax = 64 << 10
    /// Bytes of an answer that have come and were not taken; beyond it the socket is not read.
    static let untakenBytesMax = 256 << 10
    /// Bytes of a request's body that wait for the socket; below half of it more is asked for.
    static let unsentBytesMax = 256 << 10
}
