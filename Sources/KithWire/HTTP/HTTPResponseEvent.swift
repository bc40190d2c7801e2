/// What came over a connection to a client.
public enum HTTPResponseEvent: Sendable, Equatable {
    /// A response before the response (1xx other than 101), such as `100 Continue`.
    case interim(HTTPResponseHead)
    /// The response begins. A 101 has no body: ``HTTPResponseParser/takeRemainder()`` gives what follows its `end`.
    case head(HTTPResponseHead)
    /// The next bytes of its body, never empty.
    case body([UInt8])
    /// The response is whole.
    case end
}
