/// The one error of the whole library: what kind it is, what was wrong and what to do, and what caused it.
///
/// The message never holds a document's content, a key, a password or a token; document IDs may appear.
///
/// ```swift
/// do {
///     try await database.put(id, body: bytes)
/// } catch let error as KithError where error.code == .conflict {
///     // read the current revision and decide
/// }
/// ```
public struct KithError: Error, Sendable, CustomStringConvertible {
    /// The kind of error.
    public let code: ErrorCode
    /// One sentence for people: what was wrong and where.
    public let message: String
    /// One sentence: what to do about it, or `nil` where nothing general can be said.
    public let remedy: String?
    /// The error underneath, if there was one.
    public let cause: (any Error)?

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: the kind of error.
    ///   - message: what was wrong and where, one sentence without a full stop.
    ///   - remedy: what to do about it, one sentence without a full stop.
    ///   - cause: the error underneath.
    public init(_ code: ErrorCode, _ message: String, remedy: String? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.remedy = remedy
        self.cause = cause
    }

    /// Message, remedy and cause in one line.
    public var description: String {
        var text = message
        if let remedy { text += ". " + remedy }
        if let cause { text += " (\(cause))" }
        return text
    }
}

/// Lets a `catch` name a code: `catch ErrorCode.conflict { … }`.
public func ~= (pattern: ErrorCode, error: any Error) -> Bool {
    (error as? KithError)?.code == pattern
}
