import KithDocuments

/// A request of HTTP to be made.
public struct HTTPClientRequest: Sendable {
    /// What is sent behind the head.
    public enum Body: Sendable {
        /// Nothing.
        case none
        /// These bytes.
        case bytes([UInt8])
        /// So many bytes, which are given piece by piece (`HTTPTransfer.send`).
        case stream(length: UInt64)
    }

    /// The method.
    public var method: String
    /// The URL, without user and password.
    public var url: String
    /// Header fields beside those that HTTP itself needs.
    public var headers: [(name: String, value: String)] = []
    /// What is sent.
    public var body = Body.none
    /// Who asks; told to the origin of the URL only, and shown nowhere.
    public var credentials: HTTPCredentials?
    /// A file with the authorities that are believed, in place of the system's.
    public var authorityFile: String?

    /// A request.
    public init(method: String, url: String) {
        self.method = method
        self.url = url
    }
}
