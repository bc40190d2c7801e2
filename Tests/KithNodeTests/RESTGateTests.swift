import KithDocuments
import KithWire
import Testing

@testable import KithNode

@Suite("What a connection's door refuses")
struct RESTGateTests {
    private func head(
        _ method: String, _ fields: (String, String)..., target: String = "/db", host: String? = "localhost:4985"
    ) throws -> HTTPRequestHead {
        var headers = HTTPHeaders()
        if let host { headers.add("Host", host) }
        for (name, value) in fields { headers.add(name, value) }
        return HTTPRequestHead(method: method, target: try #require(HTTPTarget(target)), headers: headers)
    }

    private func status(_ gate: RESTGate, _ head: HTTPRequestHead) -> Int? {
        do throws(CouchDBError) { _ = try gate.passage(of: head) } catch { return error.status }
        return nil
    }

    private func status(
        _ method: String, _ target: String, host: String? = "localhost:4985", origin: String? = nil,
        door: RESTGate.Door = .administration
    ) throws -> Int? {
        let gate = RESTGate(door: door, caller: .nobody)
        guard let origin else { return status(gate, try head(method, target: target, host: host)) }
        return status(gate, try head(method, ("Origin", origin), target: target, host: host))
    }

    private func network(_ origins: [String], credentials: Bool = false) throws -> RESTGate {
        var rules = CrossOriginRules()
        try rules.allow(origins)
        rules.allowsCredentials = credentials
        return RESTGate(door: .network, caller: .nobody, crossOrigin: rules)
    }

    @Test("a page of a browser gets in neither by a name that points to the loopback nor by the browser's own proof")
    func pages() throws {
        for host in ["localhost", "LOCALHOST:1", "127.0.0.1:4985", "[::1]:4985", "[::1]"] {
            #expect(try status("PUT", "/db", host: host) == nil, "\(host)")
        }
        for host in [
            nil, "", "evil.example", "localhost.evil.example:4985", "evil.example:localhost", "127.0.0.1.evil.example",
            "[::1].evil.example", "127.0.0.2", "localhost:4985:4985", "::1",
        ] {
            #expect(try status("PUT", "/db", host: host) == 403, "\(host ?? "none")")
        }
        #expect(try status("PUT", "/db", origin: "https://localhost:4985") == nil)
        for origin in [
            "null", "https://evil.example", "http://localhost:4985", "https://localhost", "https://127.0.0.1:4985",
        ] {
            #expect(try status("PUT", "/db", origin: origin) == 403, "\(origin)")
        }
    }

    @Test("the socket takes any name")
    func socket() throws {
        #expect(try status("PUT", "/db", host: "kith", door: .socket) == nil)
    }

    @Test("on the network only pages of this server and of allowed origins ask")
    func origins() throws {
        let evil = try head("PUT", ("Origin", "https://evil.example"))
        #expect(status(try network([]), evil) == 403)
        #expect(status(try network(["https://app.example"]), evil) == 403)
        #expect(status(try network([]), try head("PUT", ("Origin", "https://any.example"), host: "any.example")) == nil)
        #expect(status(try network([]), try head("PUT", ("Origin", "null"))) == 403)
        let app = try head("PUT", ("Origin", "https://app.example"))
        let two = try head("PUT", ("Origin", "https://app.example"), ("Origin", "https://app.example"))
        #expect(status(try network(["https://app.example"]), two) == 403)

        let plain = try network(["https://app.example"]).passage(of: app)
        #expect(plain.isOfAnotherOrigin && !plain.countsBrowserProof && plain.preflight == nil)
        #expect(plain.headers.contains { $0 == ("Access-Control-Allow-Origin", "https://app.example") })
        #expect(!plain.headers.contains { $0.name == "Access-Control-Allow-Credentials" })
        let full = try network(["https://app.example"], credentials: true).passage(of: app)
        #expect(full.countsBrowserProof && full.headers.contains { $0 == ("Access-Control-Allow-Credentials", "true") })
        let anybody = try network(["*"]).passage(of: evil)
        #expect(!anybody.countsBrowserProof && anybody.headers.contains { $0 == ("Access-Control-Allow-Origin", "*") })
        // The loopback has none of this, whatever is configured.
        var gate = try network(["*"])
        gate = RESTGate(door: .administration, caller: .nobody, crossOrigin: gate.crossOrigin)
        #expect(status(gate, evil) == 403)

        let asked = try head("OPTIONS", ("Origin", "https://app.example"), ("Access-Control-Request-Method", "PUT"))
        #expect(try network(["https://app.example"]).passage(of: asked).preflight?.status == 204)
        #expect(status(try network([]), asked) == 403)
        let unasked = try head("OPTIONS", ("Access-Control-Request-Method", "PUT"))
        #expect(try network(["*"]).passage(of: unasked).preflight == nil)
    }

    @Test("parts of pages of other sites, for which browsers send no Origin, get nothing; a link that is followed does")
    func parts() throws {
        func status(_ site: String, _ mode: String, _ dest: String) throws -> Int? {
            self.status(
                try network(["*"]),
                try head("GET", ("Sec-Fetch-Site", site), ("Sec-Fetch-Mode", mode), ("Sec-Fetch-Dest", dest)))
        }
        #expect(try status("cross-site", "no-cors", "image") == 403)
        #expect(try status("same-site", "no-cors", "script") == 403)
        #expect(try status("cross-site", "navigate", "iframe") == 403)
        #expect(try status("cross-site", "navigate", "document") == nil)
        #expect(try status("same-origin", "no-cors", "image") == nil)
        #expect(try status("none", "navigate", "document") == nil)
    }

    @Test("what is no origin is refused, and so is everybody with credentials")
    func settings() throws {
        for origin in [
            "null", "app.example", "https://app.example/", "https://", "https://*", "https://a b", "ftp://app.example",
            "https://app.example\r\nX: y", "", "https://app.example:443", "http://app.example:80", "https://a:b:c",
            "http://[",
            "https://a:0x1", "https://:1",
        ] { #expect(throws: KithError.self, "\(origin)") { try network([origin]) } }
        #expect(throws: KithError.self) { try network(["*", "https://app.example"]) }
        func settings(_ text: String) throws -> PublicRESTSettings {
            try PublicRESTSettings(try JSONValue(parsing: Array(text.utf8)))
        }
        for text in [
            "true", #"{"public":1}"#, #"{"Public":true}"#, #"{"origins":"*"}"#, #"{"origins":[1]}"#,
            #"{"origins":["*"],"credentials":true}"#, #"{"origins":["http://a"],"credentials":true}"#,
        ] { #expect(throws: KithError.self, "\(text)") { _ = try settings(text) } }
        for origin in ["https://a:444", "http://localhost:8080", "http://[::1]:1", "https://192.0.2.1"] {
            let text = "{\"origins\":[\"\(origin)\"],\"credentials\":true}"
            #expect(throws: Never.self, "\(origin)") { _ = try settings(text) }
        }
        let all = try settings(#"{"public":true,"guests":true,"origins":["https://a:1"],"credentials":true}"#)
        #expect(try PublicRESTSettings(all.json) == all)
        #expect(try settings("{}") == PublicRESTSettings())
    }
}
