import KithWire
import Testing

@testable import KithNode

@Suite("What a connection's door refuses")
struct RESTGateTests {
    private func status(
        _ method: String, _ target: String, host: String? = "localhost:4985", origin: String? = nil,
        caller: RESTCaller = .ownKey, door: RESTGate.Door = .administration
    ) throws -> Int? {
        var headers = HTTPHeaders()
        if let host { headers.add("Host", host) }
        if let origin { headers.add("Origin", origin) }
        let head = HTTPRequestHead(method: method, target: try #require(HTTPTarget(target)), headers: headers)
        return RESTGate(door: door, caller: .nobody).refusal(of: head)?.status
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
}
