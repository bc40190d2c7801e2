/// A whole message that came from the peer.
public struct BLIPMessage: Sendable {
    /// What a message is.
    public enum Kind: Sendable, Equatable {
        /// A question, or a notice when ``BLIPMessage/isNoReply`` is set.
        case request
        /// The answer to a request.
        case response
        /// The answer that the request failed, see ``BLIPMessage/error``.
        case error
    }

    /// An error response, taken apart (blip.md §11).
    public struct ErrorInfo: Sendable, Equatable {
        /// Whose codes these are; `BLIP` when the peer did not say.
        public var domain: String
        /// The code; 0 when the peer did not say.
        public var code: Int
        /// A text for people, perhaps empty.
        public var message: String

        /// Makes one.
        public init(domain: String, code: Int, message: String) {
            self.domain = domain
            self.code = code
            self.message = message
        }
    }

    /// The number of the request, also in a response to it.
    public var number: UInt64
    /// Request, response or error.
    public var kind: Kind
    /// A hint for scheduling; the reply inherits it.
    public var isUrgent: Bool
    /// Whether the sender wants no reply; a reply to it must not be sent.
    public var isNoReply: Bool
    /// Names with values.
    public var properties: BLIPProperties
    /// Everything after the properties.
    public var body: [UInt8]
    /// 0, or the length of a body that was longer than ``BLIPLimits/messageBytesMax`` and therefore dropped; `body` is
    /// then empty. Answer such a request with `HTTP` 413.
    public var droppedBodyBytes: Int

    /// Makes a message; machines make them, tests may.
    public init(
        number: UInt64, kind: Kind, isUrgent: Bool = false, isNoReply: Bool = false,
        properties: BLIPProperties = BLIPProperties(), body: [UInt8] = [], droppedBodyBytes: Int = 0
    ) {
        self.number = number
        self.kind = kind
        self.isUrgent = isUrgent
        self.isNoReply = isNoReply
        self.properties = properties
        self.body = body
        self.droppedBodyBytes = droppedBodyBytes
    }

    /// The error of an error response, `nil` for every other message.
    public var error: ErrorInfo? {
        guard kind == .error else { return nil }
        return ErrorInfo(
            domain: properties["Error-Domain"] ?? "BLIP",
            code: properties.int("Error-Code").flatMap { Int32(exactly: $0) }.map(Int.init) ?? 0,
            message: String(decoding: body, as: UTF8.self))
    }
}
