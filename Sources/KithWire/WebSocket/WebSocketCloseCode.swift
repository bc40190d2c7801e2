/// Close codes (RFC 6455 §7.4, the IANA registry, and blip.md §13 for the 4000s).
public enum WebSocketCloseCode {
    /// The work is done.
    public static let normal: UInt16 = 1000
    /// The end point goes away for good.
    public static let goingAway: UInt16 = 1001
    /// The peer broke the protocol.
    public static let protocolError: UInt16 = 1002
    /// A kind of data that is not taken.
    public static let unsupportedData: UInt16 = 1003
    /// Data that does not fit its kind: text that is not UTF-8.
    public static let invalidPayload: UInt16 = 1007
    /// A message against the node's rules.
    public static let policyViolation: UInt16 = 1008
    /// A message larger than the limit.
    public static let tooLarge: UInt16 = 1009
    /// A bug or a failure on this side.
    public static let internalError: UInt16 = 1011
    /// Couchbase Lite tries again: sent by a node that will be back.
    public static let transient: UInt16 = 4001
    /// Couchbase Lite does not try again.
    public static let permanent: UInt16 = 4002

    /// Whether a code may travel in a close frame: a registered one, or one from 3000 to 4999. 1005, 1006 and 1015 are
    /// names for what is seen locally and never sent.
    public static func isLegalOnWire(_ code: UInt16) -> Bool {
        switch code {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }
}
