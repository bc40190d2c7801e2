/// What came in a body of several parts.
public enum MultipartEvent: Sendable, Equatable {
    /// A part begins; its header fields, which may be none.
    case part(HTTPHeaders)
    /// The next bytes of the part, never empty.
    case body([UInt8])
    /// The part is whole.
    case partEnd
    /// The last part has ended; what follows means nothing.
    case end
}
