/// The request line and header fields of an HTTP/1.1 request.
public struct HTTPRequestHead: Sendable, Equatable {
    /// The method, in upper case as RFC 9110 §9 has them; others come as they were written.
    public var method: String
    /// What is asked for.
    public var target: HTTPTarget
    /// 1 for HTTP/1.1, 0 for HTTP/1.0.
    public var minorVersion: Int
    /// The header fields.
    public var headers: HTTPHeaders

    /// Makes a head.
    public init(method: String, target: HTTPTarget, minorVersion: Int = 1, headers: HTTPHeaders = HTTPHeaders()) {
        self.method = method
        self.target = target
        self.minorVersion = minorVersion
        self.headers = headers
    }

    /// Whether the connection may carry another request after this one (RFC 9112 §9.3).
    public var keepsAlive: Bool {
        if headers.list("Connection", contains: "close") { return false }
        return minorVersion >= 1 || headers.list("Connection", contains: "keep-alive")
    }

    /// Whether the client waits for `100 Continue` before it sends the body (RFC 9110 §10.1.1).
    public var expectsContinue: Bool {
        minorVersion >= 1 && headers.list("Expect", contains: "100-continue")
    }

    /// Appends the head as it travels, empty line included.
    ///
    /// A control character in a name or value, which would break the framing, travels as a space.
    public func append(to out: inout [UInt8]) {
        HTTPSerializer.appendText(method, to: &out)
        out.append(ASCII.space)
        HTTPSerializer.appendText(target.text, to: &out)
        out.append(contentsOf: (minorVersion == 0 ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n").utf8)
        HTTPSerializer.appendFields(headers, to: &out)
    }
}
