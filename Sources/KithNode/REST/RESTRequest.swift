import KithDocuments
import KithWire

/// A request as the router sees it.
struct RESTRequest: Sendable {
    var method: String
    /// The parts of the path, percent-decoded; `%2F` in a part is data.
    var path: [String]
    var query: [String: String]
    /// The body; empty where it comes as a stream (`RESTExchange.body`).
    var body: [UInt8]
    /// The body where it was long JSON and is read already; `body` is empty then.
    var parsedBody: JSONValue?
    var headers = HTTPHeaders()
    /// 1 for HTTP/1.1, 0 for HTTP/1.0.
    var minorVersion = 1
    /// Whether it came over TLS.
    var isSecure = false

    init(
        method: String, path: [String], query: [String: String], body: [UInt8] = [],
        headers: HTTPHeaders = HTTPHeaders(),
        minorVersion: Int = 1
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.body = body
        self.headers = headers
        self.minorVersion = minorVersion
    }

    /// A request as it came, of which the path has no empty parts and the first of several query items of a name counts.
    init(_ head: HTTPRequestHead, body: [UInt8] = []) {
        self.init(
            method: head.method, path: head.target.segments.filter { !$0.isEmpty },
            query: Dictionary(head.target.query.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first }),
            body: body, headers: head.headers, minorVersion: head.minorVersion)
    }

    /// A query item that must be a whole number.
    ///
    /// - Throws: `.badRequest`, naming it.
    func integer(_ name: String, in range: ClosedRange<Int> = 0...Int.max) throws(KithError) -> Int? {
        guard let text = query[name] else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw KithError(
                .badRequest, "\(name) must be a whole number from \(range.lowerBound), not \"\(text.prefix(100))\"")
        }
        return number
    }

    /// A query item that is true or false.
    ///
    /// - Throws: `.badRequest`, naming it.
    func flag(_ name: String) throws(KithError) -> Bool { try optionalFlag(name) ?? false }

    /// A query item that is true or false, where it is there.
    ///
    /// - Throws: `.badRequest`, naming it.
    func optionalFlag(_ name: String) throws(KithError) -> Bool? {
        switch query[name] {
        case nil: return nil
        case "false"?: return false
        case "true"?: return true
        case let text?: throw KithError(.badRequest, "\(name) must be true or false, not \"\(text.prefix(100))\"")
        }
    }

    /// A query item that is a JSON string, as CouchDB's keys are; plain text is taken as it is.
    func key(_ name: String) throws(KithError) -> String? {
        guard let text = query[name] else { return nil }
        guard text.hasPrefix("\"") else { return text }
        guard let value = try? JSONValue(parsing: Array(text.utf8)), let key = value.stringValue else {
            throw KithError(.badRequest, "\(name) must be a JSON string")
        }
        return key
    }

    /// A query item that is JSON.
    ///
    /// - Throws: `.badRequest`, naming it.
    func json(_ name: String) throws(KithError) -> JSONValue? {
        guard let text = query[name] else { return nil }
        guard let value = try? JSONValue(parsing: Array(text.utf8)) else {
            throw KithError(.badRequest, "\(name) must be JSON, not \"\(text.prefix(100))\"")
        }
        return value
    }

    /// The body as a JSON object.
    ///
    /// - Throws: 415 where it is not said to be JSON, which also keeps pages of a browser from writing; `.badRequest`.
    func jsonObject() throws -> JSONObject {
        try requireJSON()
        guard let object = try jsonBody().objectValue else {
            throw KithError(.badRequest, "Request body must be a JSON object")
        }
        return object
    }

    /// The body as JSON.
    ///
    /// - Throws: `.badRequest`.
    func jsonBody() throws(KithError) -> JSONValue {
        if let parsedBody { return parsedBody }
        return try JSONValue(parsing: body)
    }

    /// Whether there is none.
    var hasBody: Bool { parsedBody != nil || !body.isEmpty }

    /// - Throws: 415 where the body is not said to be JSON.
    func requireJSON() throws(CouchDBError) {
        guard mediaType?.name == "application/json" else {
            throw CouchDBError(
                "bad_content_type", status: 415,
                KithError(.badRequest, "Content-Type must be application/json"))
        }
    }

    /// What the body is said to be.
    var mediaType: HTTPMediaType? { headers["Content-Type"].flatMap(HTTPMediaType.init) }

    /// Whether the client takes such an answer.
    func accepts(_ mediaType: String) -> Bool {
        HTTPMediaType.isAccepted(mediaType, by: headers.values(of: "Accept"))
    }

    /// The revision that the request is about, by `rev` or `If-Match`, which must not differ.
    ///
    /// - Throws: `.badName` for what is no revision ID; `.badRequest`.
    func revision() throws(KithError) -> RevisionID? {
        let named = try query["rev"].map { text throws(KithError) in try RevisionID(parsing: text) }
        guard let tag = headers["If-Match"] else { return named }
        let matched = try RevisionID(parsing: tag.filter { $0 != "\"" })
        guard named == nil || named == matched else {
            throw KithError(.badRequest, "rev and If-Match are not the same")
        }
        return matched
    }

    /// Whether `If-None-Match` names this tag, which is in quotes.
    func hasTag(_ tag: String) -> Bool {
        headers.listMembers(of: "If-None-Match").contains { member in
            let member = member.hasPrefix("W/") ? String(member.dropFirst(2)) : member
            return member == tag || member == "*"
        }
    }

    /// The URL of something on this node, as the client names the node.
    func location(_ segments: [String]) -> String {
        let path = segments.map { "/" + PercentEncoding.text($0) }.joined()
        return headers["Host"].map { (isSecure ? "https://" : "http://") + $0 + path } ?? path
    }
}
