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
    ///     somebody else, whatever the browser adds to its requests by itself.
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
        if door == .network, !crossOrigin.origins.isEmpty { passage.headers = [("Vary", "Origin")] }
        let origins = head.headers.values(of: "Origin")
        guard let origin = origins.first else { return passage }
        if origins.count == 1, HTTPHeaders.isSame(origin, "https://" + host) { return passage }
        guard origins.count == 1, door == .network, crossOrigin.allows(origin) else {
            throw CouchDBError("forbidden", KithError(.forbidden, "pages of other origins have no access here"))
        }
        passage.headers = crossOrigin.headers(for: origin)
        passage.isOfAnotherOrigin = true
        passage.countsBrowserProof = crossOrigin.allowsCredentials
        if head.method == "OPTIONS", head.headers["Access-Control-Request-Method"] != nil {
            passage.preflight = crossOrigin.preflight(for: origin)
        }
        return passage
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
