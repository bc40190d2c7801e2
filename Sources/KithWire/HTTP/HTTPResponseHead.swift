/// The status line and header fields of an HTTP/1.1 response.
public struct HTTPResponseHead: Sendable, Equatable {
    /// The status, 100 to 599.
    public var status: Int
    /// The words after the status; they mean nothing.
    public var reason: String
    /// 1 for HTTP/1.1, 0 for HTTP/1.0.
    public var minorVersion: Int
    /// The header fields.
    public var headers: HTTPHeaders

    /// Makes a head; without `reason` it gets the usual words.
    public init(status: Int, reason: String? = nil, minorVersion: Int = 1, headers: HTTPHeaders = HTTPHeaders()) {
        self.status = status
        self.reason = reason ?? Self.usualReason(status)
        self.minorVersion = minorVersion
        self.headers = headers
    }

    /// Whether the connection may carry another response after this one (RFC 9112 §9.3).
    public var keepsAlive: Bool {
        if headers.list("Connection", contains: "close") { return false }
        return minorVersion >= 1 || headers.list("Connection", contains: "keep-alive")
    }

    /// Appends the head as it travels, empty line included.
    ///
    /// A control character in a name or value, which would break the framing, travels as a space.
    public func append(to out: inout [UInt8]) {
        out.append(contentsOf: "HTTP/1.1 ".utf8)
        out.append(contentsOf: String(status).utf8)
        out.append(ASCII.space)
        HTTPSerializer.appendText(reason, to: &out)
        out.append(contentsOf: "\r\n".utf8)
        HTTPSerializer.appendFields(headers, to: &out)
    }

    /// The words that usually follow a status (RFC 9110 §15).
    public static func usualReason(_ status: Int) -> String {
        switch status {
        case 100: "Continue"
        case 101: "Switching Protocols"
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 204: "No Content"
        case 206: "Partial Content"
        case 304: "Not Modified"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 406: "Not Acceptable"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 412: "Precondition Failed"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 415: "Unsupported Media Type"
        case 416: "Range Not Satisfiable"
        case 426: "Upgrade Required"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        case 505: "HTTP Version Not Supported"
        case 507: "Insufficient Storage"
        default: "Status"
        }
    }
}
