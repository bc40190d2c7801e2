import KithDocuments
import KithWire

/// Where a connection came in, and what that alone refuses. What callers may do is `RESTAccess`'s affair.
struct RESTGate: Sendable {
    /// Where a connection came in.
    enum Door: Sendable {
        /// The Unix socket in the home.
        case socket
        /// TLS on the loopback addresses of this machine.
        case administration
        /// TLS on the port of replication: everybody on the network.
        case network
    }

    /// Where it came in.
    let door: Door
    /// Whom the connection itself proves.
    let caller: RESTCaller
    /// Whose pages may ask.
    var crossOrigin = CrossOriginRules()

    /// Whether everything may be done, whatever is asked: administration has no other check then.
    var isOwners: Bool { caller.isOwner && door != .network }

    /// Looks at a request before anything is done.
    ///
    /// - Returns: how it goes on.
    /// - Throws: 403. On the network and on the loopback everybody can connect, and every page in a browser can have the browser do so:
    ///   - On the loopback `Host` is one of its own names, so that no name of an attacker's that points here (DNS rebinding)
    ///     makes his page one of the same origin. On the network the name in the certificate does that.
    ///   - `Origin`, where there is one, is this server or one that is allowed: no other page writes, or logs its reader in as
    ///     somebody else, whatever the browser adds to its requests by itself. Pictures, scripts and other parts of a page are asked for
    ///     without `Origin`: those of other sites tell by `Sec-Fetch-Site` (the standard "Fetch Metadata Request Headers").
    func passage(of head: HTTPRequestHead) throws(CouchDBError) -> RESTPassage {
        var passage = RESTPassage()
        guard door != .socket else { return passage }
        let host = head.headers["Host"] ?? ""
        guard door == .network || Self.isLoopback(host) else {
            throw CouchDBError(
                "forbidden",
                KithError(
                    .forbidden, "administration is served under the names localhost, 127.0.0.1 and [::1] alone",
                    remedy: "Use https://localhost:PORT/"))
        }
        passage.headers = Self.headers(policy: "same-origin")
        if door == .network, !crossOrigin.origins.isEmpty { passage.headers.append(("Vary", "Origin")) }
        let origins = head.headers.values(of: "Origin")
        guard let origin = origins.first else {
            guard !Self.isPartOfAnotherSite(head.headers) else {
                throw CouchDBError(
                    "forbidden",
                    KithError(
                        .forbidden, "pages of other origins have no access here",
                        remedy: "Ask by CORS, such as with <img crossorigin>"))
            }
            return passage
        }
        if origins.count == 1, HTTPHeaders.isSame(origin, "https://" + host) { return passage }
        guard origins.count == 1, door == .network, crossOrigin.allows(origin) else {
            throw CouchDBError("forbidden", KithError(.forbidden, "pages of other origins have no access here"))
        }
        passage.headers = Self.headers(policy: "cross-origin")
        passage.headers += crossOrigin.headers(for: origin)
        passage.isOfAnotherOrigin = true
        passage.countsBrowserProof = crossOrigin.allowsCredentials
        if head.method == "OPTIONS", head.headers["Access-Control-Request-Method"] != nil {
            passage.preflight = crossOrigin.preflight(for: origin)
        }
        return passage
    }

    /// What every answer says: it is what it is said to be, and whose pages it may be a part of (the Fetch standard, "CORP").
    private static func headers(policy: String) -> [(name: String, value: String)] {
        [("X-Content-Type-Options", "nosniff"), ("Cross-Origin-Resource-Policy", policy)]
    }

    /// Whether a browser asks for a part of a page of another site; a link that somebody follows is none.
    private static func isPartOfAnotherSite(_ headers: HTTPHeaders) -> Bool {
        let site = headers["Sec-Fetch-Site"]
        guard site == "cross-site" || site == "same-site" else { return false }
        return headers["Sec-Fetch-Mode"] != "navigate" || headers["Sec-Fetch-Dest"] != "document"
    }

    /// Whether a `Host` field is one of the loopback's names, with or without a port.
    static func isLoopback(_ host: String) -> Bool {
        let bytes = Array(host.utf8)
        let colon = UInt8(ascii: ":")
        var end = bytes.count
        if let last = bytes.lastIndex(of: colon), bytes[(last + 1)...].allSatisfy({ (48...57).contains($0) }) {
            end = last
        }
        let name = String(decoding: bytes[..<end], as: UTF8.self)
        return ["localhost", "127.0.0.1", "[::1]"].contains { HTTPHeaders.isSame(name, $0) }
    }
}
