import KithDocuments

/// A request to the node, before it becomes bytes.
struct NodeRequest {
    let method: String
    /// The parts of the path between the slashes, not yet encoded.
    let path: [String]
    let query: [(name: String, value: String)]
    let body: [UInt8]?

    init(_ method: String, _ path: [String], query: [(name: String, value: String)] = [], body: [UInt8]? = nil) {
        self.method = method
        self.path = path
        self.query = query
        self.body = body
    }

    /// The path and query as they stand in the request line, every byte outside the unreserved set of RFC 3986 §2.3
    /// percent-encoded, so that no name can become another path.
    var target: String {
        var text = ""
        for part in path { text += "/" + PercentEncoding.text(part) }
        if text.isEmpty { text = "/" }
        for (index, item) in query.enumerated() {
            text += (index == 0 ? "?" : "&") + PercentEncoding.text(item.name) + "=" + PercentEncoding.text(item.value)
        }
        return text
    }

    /// The whole request as HTTP/1.1 (RFC 9112).
    var bytes: [UInt8] {
        var head = "\(method) \(target) HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n"
        if let body { head += "Content-Type: application/json\r\nContent-Length: \(body.count)\r\n" }
        head += "\r\n"
        return Array(head.utf8) + (body ?? [])
    }
}
