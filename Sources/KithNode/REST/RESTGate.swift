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
    }

    /// Where it came in.
    let door: Door
    /// Whom the connection itself proves.
    let caller: RESTCaller

    /// Why a request is refused, or nil where it may be made.
    ///
    /// On the loopback, every user of the machine can connect, and every page in a browser can have the browser do so:
    /// - `Host` is one of the loopback's own names, so that no name of an attacker's that points here (DNS rebinding)
    ///   makes his page one of the same origin.
    /// - `Origin`, where there is one, is this server: no page of another origin writes, whatever the browser adds to
    ///   its requests by itself.
    func refusal(of head: HTTPRequestHead) -> CouchDBError? {
        guard door == .administration else { return nil }
        guard let host = head.headers["Host"], Self.isLoopback(host) else {
            return CouchDBError(
                "forbidden",
                KithError(
                    .forbidden, "administration is served under the names localhost, 127.0.0.1 and [::1] alone",
                    remedy: "Use https://localhost:PORT/"))
        }
        let origins = head.headers.values(of: "Origin")
        guard origins.allSatisfy({ HTTPHeaders.isSame($0, "https://" + host) }) else {
            return CouchDBError(
                "forbidden", KithError(.forbidden, "pages of other origins have no access to administration"))
        }
        return nil
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
