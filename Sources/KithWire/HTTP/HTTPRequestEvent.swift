/// What came over a connection to a server.
public enum HTTPRequestEvent: Sendable, Equatable {
    /// A request begins.
    case head(HTTPRequestHead)
    /// The next bytes of its body, never empty.
    case body([UInt8])
    /// The request is whole.
    case end
}
