import COpenSSL

/// The upgrade from HTTP/1.1 to WebSocket, for both ends (RFC 6455 §4, replication.md §1.1).
public enum WebSocketHandshake {
    /// What a client asked for.
    public struct Offer: Sendable, Equatable {
        /// Its `Sec-WebSocket-Key`.
        public var key: String
        /// The subprotocols that it offers, best first.
        public var subprotocols: [String]
    }

    /// A key for a client's request from 16 random bytes (RFC 6455 §4.1).
    public static func makeKey() -> String {
        var random = SystemRandomNumberGenerator()
        return Base64.encode((0..<16).map { _ in UInt8.random(in: 0...255, using: &random) })
    }

    /// The `Sec-WebSocket-Accept` that answers a key: base64 of SHA-1 over the key and a fixed text (RFC 6455 §4.2.2).
    public static func acceptKey(for key: String) -> String {
        let input = Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)
        var digest = [UInt8](repeating: 0, count: 20)
        let result = EVP_Digest(input, input.count, &digest, nil, EVP_sha1(), nil)
        precondition(result == 1, "OpenSSL has no SHA-1")
        return Base64.encode(digest)
    }

    // MARK: Client

    /// The request of a client.
    ///
    /// - Parameters:
    ///   - host: the `Host` field, with the port unless it is the scheme's own.
    ///   - target: the path, such as `/db/_blipsync`.
    ///   - key: from ``makeKey()``; keep it for ``checkResponse(_:key:offered:)``.
    ///   - subprotocols: what is offered, best first.
    ///   - extraHeaders: sent after the others (`User-Agent`, `Authorization`).
    public static func request(
        host: String, target: HTTPTarget, key: String, subprotocols: [String],
        extraHeaders: HTTPHeaders = HTTPHeaders()
    ) -> HTTPRequestHead {
        var headers: HTTPHeaders = [
            "Host": host, "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": key,
        ]
        if !subprotocols.isEmpty {
            headers.add("Sec-WebSocket-Protocol", subprotocols.joined(separator: ","))
        }
        for field in extraHeaders.fields { headers.add(field.name, field.value) }
        return HTTPRequestHead(method: "GET", target: target, headers: headers)
    }

    /// Checks the server's response.
    ///
    /// - Returns: the subprotocol that the server chose; `nil` only when none was offered.
    /// - Throws: ``WebSocketHandshakeError`` with the response's status.
    public static func checkResponse(
        _ head: HTTPResponseHead, key: String, offered: [String]
    ) throws(WebSocketHandshakeError) -> String? {
        func refusal(_ reason: String) -> WebSocketHandshakeError {
            WebSocketHandshakeError(status: head.status, reason: reason)
        }
        guard head.status == 101 else { throw refusal("the server answered \(head.status), not 101") }
        guard head.minorVersion >= 1 else { throw refusal("the server answered with HTTP/1.0") }
        guard head.headers.list("Connection", contains: "upgrade") else {
            throw refusal("the response has no Connection: Upgrade")
        }
        let upgrades = head.headers.listMembers(of: "Upgrade")
        guard upgrades.count == 1, HTTPHeaders.isSame(upgrades[0], "websocket") else {
            throw refusal("the response does not upgrade to websocket")
        }
        let accepts = head.headers.values(of: "Sec-WebSocket-Accept")
        guard accepts.count == 1, accepts[0].utf8.elementsEqual(acceptKey(for: key).utf8) else {
            throw refusal("the response does not answer the key")
        }
        guard head.headers.listMembers(of: "Sec-WebSocket-Extensions").isEmpty else {
            throw refusal("the server agreed to an extension that was not offered")
        }
        let chosen = head.headers.values(of: "Sec-WebSocket-Protocol")
        guard !offered.isEmpty else {
            guard chosen.isEmpty else { throw refusal("the server chose a subprotocol that was not offered") }
            return nil
        }
        guard chosen.count == 1 else { throw refusal("the server chose no subprotocol") }
        guard let match = offered.first(where: { $0.utf8.elementsEqual(chosen[0].utf8) }) else {
            throw refusal("the server chose a subprotocol that was not offered")
        }
        return match
    }

    // MARK: Server

    /// Whether a request wants to become a WebSocket connection, rightly or not: if so, ``checkRequest(_:)`` decides.
    public static func isUpgrade(_ head: HTTPRequestHead) -> Bool {
        head.headers.list("Upgrade", contains: "websocket")
    }

    /// Checks a client's request.
    ///
    /// `Origin` is not looked at: whoever lets browsers in must.
    ///
    /// - Throws: ``WebSocketHandshakeError`` with the status to answer.
    public static func checkRequest(_ head: HTTPRequestHead) throws(WebSocketHandshakeError) -> Offer {
        func refusal(_ status: Int, _ reason: String) -> WebSocketHandshakeError {
            WebSocketHandshakeError(status: status, reason: reason)
        }
        let headers = head.headers
        guard head.method == "GET" else { throw refusal(405, "a WebSocket connection begins with GET") }
        guard head.minorVersion >= 1 else { throw refusal(400, "a WebSocket connection needs HTTP/1.1") }
        guard headers.list("Upgrade", contains: "websocket") else {
            throw refusal(426, "this address speaks WebSocket only")
        }
        guard headers.list("Connection", contains: "upgrade") else {
            throw refusal(400, "the request has no Connection: Upgrade")
        }
        guard headers["Transfer-Encoding"] == nil, headers["Content-Length"].map({ $0 == "0" }) ?? true else {
            throw refusal(400, "an upgrade request has no body")
        }
        let versions = headers.values(of: "Sec-WebSocket-Version")
        guard versions.count == 1, versions[0] == "13" else {
            throw refusal(426, "the WebSocket version is not 13")
        }
        let keys = headers.values(of: "Sec-WebSocket-Key")
        guard keys.count == 1, Base64.isSixteenBytes(keys[0]) else {
            throw refusal(400, "Sec-WebSocket-Key is not 16 bytes in base64")
        }
        return Offer(key: keys[0], subprotocols: headers.listMembers(of: "Sec-WebSocket-Protocol"))
    }

    /// The best of the supported subprotocols that is offered, compared byte by byte.
    ///
    /// - Throws: ``WebSocketHandshakeError`` with status 400 when there is none.
    public static func chooseSubprotocol(
        from offer: Offer, supported: [String] = BLIPSubprotocol.supported
    ) throws(WebSocketHandshakeError) -> String {
        for token in supported where offer.subprotocols.contains(where: { $0.utf8.elementsEqual(token.utf8) }) {
            return token
        }
        throw WebSocketHandshakeError(
            status: 400,
            reason: "no offered WebSocket subprotocol is supported; this node speaks "
                + supported.joined(separator: ", "))
    }

    /// The response that accepts an offer, in the form that Couchbase Lite's strict client takes (replication.md §1.1).
    public static func response(to offer: Offer, subprotocol: String?) -> HTTPResponseHead {
        var headers: HTTPHeaders = [
            "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Accept": acceptKey(for: offer.key),
        ]
        if let subprotocol { headers.add("Sec-WebSocket-Protocol", subprotocol) }
        return HTTPResponseHead(status: 101, headers: headers)
    }
}
