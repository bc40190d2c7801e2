import KithDocuments
import KithTransport
import KithWire

/// Whose pages may ask from a browser, and what a browser is told of it (the Fetch standard, "HTTP extensions": CORS).
public struct CrossOriginRules: Sendable, Equatable {
    /// Origins such as `https://app.example:8443`, or `*` alone.
    public private(set) var origins: [String] = []
    /// Whether cookies and certificates, which a browser adds by itself, count in requests of these pages.
    public var allowsCredentials = false

    /// Nobody's but this server's own.
    public init() {}

    var allowsEverybody: Bool { origins == ["*"] }

    /// Lets pages of these origins ask, and of no others.
    ///
    /// - Throws: `.badConfiguration`, naming the one that is no origin.
    public mutating func allow(_ origins: [String]) throws(KithError) {
        guard origins.count <= NodeLimits.originsMax else {
            throw KithError(.badConfiguration, "there are more than \(NodeLimits.originsMax) origins")
        }
        for origin in origins where !Self.isOrigin(origin) && origins != ["*"] {
            throw KithError(
                .badConfiguration,
                "\"\(origin.prefix(100))\" is no origin: it is written like https://app.example:8443, or \"*\" stands alone"
            )
        }
        self.origins = origins
    }

    /// Whether a page of this origin may ask.
    func allows(_ origin: String) -> Bool {
        allowsEverybody || origins.contains { HTTPHeaders.isSame($0, origin) }
    }

    /// What an answer says so that a page of this origin may read it; it must be allowed.
    func headers(for origin: String) -> [(name: String, value: String)] {
        var headers = [
            (name: "Access-Control-Allow-Origin", value: allowsEverybody ? "*" : origin),
            (name: "Vary", value: "Origin"),
            (name: "Access-Control-Expose-Headers", value: Self.exposed),
        ]
        if allowsCredentials { headers.append(("Access-Control-Allow-Credentials", "true")) }
        return headers
    }

    /// What is said to a browser that asks whether a page may ask.
    func preflight(for origin: String) -> HTTPAnswer {
        HTTPAnswer(
            204, body: [],
            headers: headers(for: origin) + [
                ("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, DELETE, COPY"),
                ("Access-Control-Allow-Headers", Self.asked),
                ("Access-Control-Max-Age", String(NodeLimits.preflightSeconds)),
            ])
    }

    /// What pages may read of an answer …
    private static let exposed =
        "Accept-Ranges, Cache-Control, Content-Length, Content-Range, Content-Type, ETag, Location, Retry-After, Server"
    /// … and what they may send.
    private static let asked =
        "Accept, Authorization, Cache-Control, Content-MD5, Content-Type, Destination, If-Match, If-None-Match, "
        + "Last-Event-ID, Origin, Range, Referer, X-Requested-With"

    /// An origin that is not protected on its way, so that whoever is in the network speaks as its pages; this machine's own are.
    var unprotected: String? {
        origins.first { $0.hasPrefix("http://") && !RESTGate.isLoopback(String($0.dropFirst("http://".count))) }
    }

    /// Scheme, host and port and nothing else, as browsers write it: without the port that is the scheme's own.
    private static func isOrigin(_ text: String) -> Bool {
        let schemes: [(text: String, port: UInt16)] = [("https://", 443), ("http://", 80)]
        guard text.utf8.count <= NodeLimits.originBytesMax,
            let scheme = schemes.first(where: { text.hasPrefix($0.text) })
        else { return false }
        let rest = String(text.dropFirst(scheme.text.count))
        guard let address = try? SocketAddress(parsing: rest, defaultPort: scheme.port),
            rest.hasPrefix("[") || rest.utf8.count(where: { $0 == UInt8(ascii: ":") }) <= 1
        else { return false }
        guard address.port != scheme.port || !rest.hasSuffix(":\(scheme.port)") else { return false }
        return rest.utf8.allSatisfy {
            switch $0 {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
                UInt8(ascii: "."), UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }
}
