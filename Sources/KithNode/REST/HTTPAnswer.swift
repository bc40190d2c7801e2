import KithDocuments
import KithWire

/// An answer as HTTP/1.1 writes it (RFC 9112).
struct HTTPAnswer: Sendable {
    var status: Int
    var headers: [(name: String, value: String)] = []
    var contentType = "application/json"
    var body: [UInt8]

    init(_ status: Int, body: [UInt8], headers: [(name: String, value: String)] = []) {
        self.status = status
        self.body = body
        self.headers = headers
    }

    init(_ status: Int, _ json: JSONValue, headers: [(name: String, value: String)] = []) {
        self.init(status, body: json.canonicalBytes() + [UInt8(ascii: "\n")], headers: headers)
    }

    /// The answer for an error: its code, its message and what to do.
    static func error(_ error: KithError) -> HTTPAnswer {
        var object: [(String, JSONValue)] = [("error", .string(error.code.name)), ("reason", .string(error.message))]
        if let remedy = error.remedy { object.append(("remedy", .string(remedy))) }
        return HTTPAnswer(error.code.httpStatus, JSONValue(object: object))
    }

    func bytes(keepsAlive: Bool, withoutBody: Bool = false) -> [UInt8] {
        var head = Self.head(status, contentType: contentType, keepsAlive: keepsAlive)
        for header in headers { head.headers.add(header.name, header.value) }
        head.headers.add("Content-Length", String(body.count))
        var bytes: [UInt8] = []
        head.append(to: &bytes)
        return withoutBody ? bytes : bytes + body
    }

    static func streamHead(contentType: String, keepsAlive: Bool) -> [UInt8] {
        var head = head(200, contentType: contentType, keepsAlive: keepsAlive)
        head.headers.add("Transfer-Encoding", "chunked")
        var bytes: [UInt8] = []
        head.append(to: &bytes)
        return bytes
    }

    private static func head(_ status: Int, contentType: String, keepsAlive: Bool) -> HTTPResponseHead {
        var headers: HTTPHeaders = [
            "Server": "Kith/\(Node.version)", "Content-Type": contentType, "Cache-Control": "must-revalidate",
        ]
        if !keepsAlive { headers.add("Connection", "close") }
        return HTTPResponseHead(status: status, headers: headers)
    }
}
