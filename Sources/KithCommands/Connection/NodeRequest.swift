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
        for part in path { text += "/" + Self.encoded(part) }
        if text.isEmpty { text = "/" }
        for (index, item) in query.enumerated() {
            text += (index == 0 ? "?" : "&") + Self.encoded(item.name) + "=" + Self.encoded(item.value)
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

    private static func encoded(_ text: String) -> String {
        var result = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
                UInt8(ascii: "~"):
                result.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                result += digits.utf8.count == 1 ? "%0" + digits : "%" + digits
            }
        }
        return result
    }
}
