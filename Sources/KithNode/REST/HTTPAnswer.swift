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

    /// `{"ok": true}`.
    static func ok(_ status: Int = 200) -> HTTPAnswer { HTTPAnswer(status, JSONValue(object: [("ok", true)])) }

    /// The client has it already.
    static func notModified(_ tag: String) -> HTTPAnswer { HTTPAnswer(304, body: [], headers: [("ETag", tag)]) }

    /// The answer for an error: its name, its message and what to do.
    static func error(_ error: any Error) -> HTTPAnswer {
        let error = CouchDBError(error)
        return HTTPAnswer(error.status, JSONValue(object: error.members), headers: error.headers)
    }

    func bytes(keepsAlive: Bool, withoutBody: Bool = false) -> [UInt8] {
        var head = Self.head(status, contentType: contentType, keepsAlive: keepsAlive)
        for header in headers { head.headers.add(header.name, header.value) }
        // RFC 9110 §8.6: a 304 would have to give the length of what it does not send, and a 204 has none.
        if status != 304, status != 204 { head.headers.add("Content-Length", String(body.count)) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(body.count + 512)
        head.append(to: &bytes)
        if !withoutBody, status != 304 { bytes.append(contentsOf: body) }
        return bytes
    }

    /// The head of an answer that is sent piece by piece.
    ///
    /// - Parameter length: of the body; nil for one that is sent in chunks, or, with `isChunked` false, until the
    ///   connection ends.
    static func streamHead(
        _ status: Int = 200, contentType: String, headers: [(name: String, value: String)] = [], length: UInt64? = nil,
        isChunked: Bool = true, keepsAlive: Bool
    ) -> [UInt8] {
        var head = head(status, contentType: contentType, keepsAlive: keepsAlive)
        for header in headers { head.headers.add(header.name, header.value) }
        if let length {
            head.headers.add("Content-Length", String(length))
        } else if isChunked {
            head.headers.add("Transfer-Encoding", "chunked")
        }
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
