import KithWire
import Testing

@testable import KithNode

@Suite("Who may make a request")
struct RESTGateTests {
    private func status(
        _ method: String, _ target: String, host: String? = "localhost:4985", origin: String? = nil,
        caller: RESTCaller = .ownKey, door: RESTGate.Door = .administration
    ) throws -> Int? {
        var headers = HTTPHeaders()
        if let host { headers.add("Host", host) }
        if let origin { headers.add("Origin", origin) }
        let head = HTTPRequestHead(method: method, target: try #require(HTTPTarget(target)), headers: headers)
        return RESTGate(door: door, caller: caller).refusal(of: head)?.status
    }

    @Test("on the loopback nobody gets further than _up without the node's key, by whatever path")
    func strangers() throws {
        #expect(try status("GET", "/_up", caller: .nobody) == nil)
        #expect(try status("HEAD", "/_up", caller: .nobody) == nil)
        for target in [
            "/", "*", "//_up", "/_up/x", "/_up/../db", "/%5fup/db", "/db", "/_all_dbs", "/_session", "/x/_up",
        ] {
            #expect(try status("GET", target, caller: .nobody) == 401, "\(target)")
            #expect(try status("GET", target) == nil, "\(target)")
        }
        for method in ["PUT", "POST", "DELETE", "OPTIONS", "get"] {
            #expect(try status(method, "/_up", caller: .nobody) == 401, "\(method)")
        }
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
        #expect(try status("PUT", "/db", host: "kith", caller: .owner, door: .socket) == nil)
    }
}
