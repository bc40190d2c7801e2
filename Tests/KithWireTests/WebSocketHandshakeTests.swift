import Testing

@testable import KithWire

@Suite("WebSocket: handshake")
struct WebSocketHandshakeTests {
    static let key = "dGhlIHNhbXBsZSBub25jZQ=="
    static let token = BLIPSubprotocol.token

    private func request(_ change: (inout HTTPRequestHead) -> Void = { _ in }) -> HTTPRequestHead {
        var head = WebSocketHandshake.request(
            host: "node.local:4984", target: HTTPTarget("/db/_blipsync")!, key: Self.key, subprotocols: [Self.token],
            extraHeaders: ["User-Agent": "Kith"])
        change(&head)
        return head
    }

    private func response(_ change: (inout HTTPResponseHead) -> Void = { _ in }) throws -> HTTPResponseHead {
        let offer = try WebSocketHandshake.checkRequest(request())
        var head = WebSocketHandshake.response(to: offer, subprotocol: Self.token)
        change(&head)
        return head
    }

    @Test("the accept key of RFC 6455 comes out")
    func acceptKey() {
        #expect(WebSocketHandshake.acceptKey(for: Self.key) == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    }

    @Test("a new key is 16 bytes in base64 and never the same")
    func newKey() {
        let keys = (0..<100).map { _ in WebSocketHandshake.makeKey() }
        #expect(keys.allSatisfy(Base64.isSixteenBytes))
        #expect(Set(keys).count == 100)
    }

    @Test(
        "base64 of every length",
        arguments: [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")])
    func base64(plain: String, encoded: String) {
        #expect(Base64.encode(Array(plain.utf8)) == encoded)
    }

    @Test("the request and the 101 have exactly the form that strict peers take")
    func strictForm() throws {
        var out: [UInt8] = []
        request().append(to: &out)
        #expect(
            String(decoding: out, as: UTF8.self) == """
                GET /db/_blipsync HTTP/1.1\r
                Host: node.local:4984\r
                Connection: Upgrade\r
                Upgrade: websocket\r
                Sec-WebSocket-Version: 13\r
                Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r
                Sec-WebSocket-Protocol: BLIP_3+CBMobile_3\r
                User-Agent: Kith\r
                \r\n
                """)
        out = []
        try response().append(to: &out)
        #expect(
            String(decoding: out, as: UTF8.self) == """
                HTTP/1.1 101 Switching Protocols\r
                Connection: Upgrade\r
                Upgrade: websocket\r
                Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r
                Sec-WebSocket-Protocol: BLIP_3+CBMobile_3\r
                \r\n
                """)
    }

    @Test("a right response is taken, with the subprotocol that was offered")
    func rightResponse() throws {
        #expect(
            try WebSocketHandshake.checkResponse(response(), key: Self.key, offered: ["x", Self.token]) == Self.token)
        let list = try response { $0.headers["Connection"] = "keep-alive, Upgrade" }
        #expect(try WebSocketHandshake.checkResponse(list, key: Self.key, offered: [Self.token]) == Self.token)
        let none = try response { $0.headers["Sec-WebSocket-Protocol"] = nil }
        #expect(try WebSocketHandshake.checkResponse(none, key: Self.key, offered: []) == nil)
    }

    @Test("every wrong response is refused with its status")
    func wrongResponses() throws {
        let changes: [(Int, (inout HTTPResponseHead) -> Void)] = [
            (200, { $0.status = 200 }), (404, { $0.status = 404 }), (101, { $0.minorVersion = 0 }),
            (101, { $0.headers["Connection"] = nil }), (101, { $0.headers["Connection"] = "close" }),
            (101, { $0.headers["Upgrade"] = nil }), (101, { $0.headers["Upgrade"] = "websocket, h2c" }),
            (101, { $0.headers["Sec-WebSocket-Accept"] = nil }),
            (101, { $0.headers["Sec-WebSocket-Accept"] = "S3pPLMBiTxaQ9kYGzzhZRbK+xOo=" }),
            (101, { $0.headers.add("Sec-WebSocket-Accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=") }),
            (101, { $0.headers.add("Sec-WebSocket-Extensions", "permessage-deflate") }),
            (101, { $0.headers["Sec-WebSocket-Protocol"] = nil }),
            (101, { $0.headers["Sec-WebSocket-Protocol"] = "BLIP_3+CBMobile_4" }),
            (101, { $0.headers["Sec-WebSocket-Protocol"] = "blip_3+cbmobile_3" }),
            (101, { $0.headers.add("Sec-WebSocket-Protocol", Self.token) }),
        ]
        for (status, change) in changes {
            let head = try response(change)
            let error = #expect(throws: WebSocketHandshakeError.self) {
                try WebSocketHandshake.checkResponse(head, key: Self.key, offered: [Self.token])
            }
            #expect(error?.status == status)
        }
        let uninvited = try response()
        #expect(throws: WebSocketHandshakeError.self) {
            try WebSocketHandshake.checkResponse(uninvited, key: Self.key, offered: [])
        }
    }

    @Test("every wrong request is refused with the status that says why")
    func wrongRequests() {
        let changes: [(Int, (inout HTTPRequestHead) -> Void)] = [
            (405, { $0.method = "POST" }), (400, { $0.minorVersion = 0 }), (426, { $0.headers["Upgrade"] = nil }),
            (426, { $0.headers["Upgrade"] = "h2c" }), (400, { $0.headers["Connection"] = nil }),
            (400, { $0.headers["Connection"] = "keep-alive" }), (400, { $0.headers["Content-Length"] = "5" }),
            (400, { $0.headers["Transfer-Encoding"] = "chunked" }),
            (426, { $0.headers["Sec-WebSocket-Version"] = nil }),
            (426, { $0.headers["Sec-WebSocket-Version"] = "8" }),
            (426, { $0.headers.add("Sec-WebSocket-Version", "13") }),
            (400, { $0.headers["Sec-WebSocket-Key"] = nil }), (400, { $0.headers["Sec-WebSocket-Key"] = "" }),
            (400, { $0.headers["Sec-WebSocket-Key"] = "dGhlIHNhbXBsZSBub25jZQ" }),
            (400, { $0.headers["Sec-WebSocket-Key"] = "dGhlIHNhbXBsZSBub25jZ===" }),
            (400, { $0.headers["Sec-WebSocket-Key"] = "dGhlIHNhbXBsZSBub25 ZQ==" }),
            (400, { $0.headers.add("Sec-WebSocket-Key", Self.key) }),
        ]
        for (status, change) in changes {
            let error = #expect(throws: WebSocketHandshakeError.self) {
                try WebSocketHandshake.checkRequest(request(change))
            }
            #expect(error?.status == status)
            #expect(error?.responseHead.status == status)
        }
        let upgrade = WebSocketHandshakeError(status: 426, reason: "").responseHead
        #expect(upgrade.headers["Sec-WebSocket-Version"] == "13")
    }

    @Test("browsers' lists are taken, and names in any case")
    func lenientRequests() throws {
        let head = request {
            $0.headers["Connection"] = "keep-alive, UPGRADE"
            $0.headers["Upgrade"] = "WebSocket"
            $0.headers["Content-Length"] = "0"
        }
        #expect(try WebSocketHandshake.checkRequest(head).key == Self.key)
    }

    @Test("the first offered subprotocol that is spoken is chosen, and none is an answer too")
    func choosing() throws {
        func offer(_ values: String...) throws -> WebSocketHandshake.Offer {
            try WebSocketHandshake.checkRequest(
                request {
                    $0.headers["Sec-WebSocket-Protocol"] = nil
                    for value in values { $0.headers.add("Sec-WebSocket-Protocol", value) }
                })
        }
        #expect(
            try WebSocketHandshake.chooseSubprotocol(from: offer("BLIP_3+CBMobile_3,BLIP_3+CBMobile_2")) == Self.token)
        #expect(
            try WebSocketHandshake.chooseSubprotocol(from: offer("BLIP_3+CBMobile_4 , BLIP_3+CBMobile_3")) == Self.token
        )
        #expect(
            try WebSocketHandshake.chooseSubprotocol(from: offer("BLIP_3+CBMobile_4", "BLIP_3+CBMobile_3"))
                == Self.token)
        for (offered, chosen) in [
            ("BLIP_3+CBMobile_2", "BLIP_3+CBMobile_2"), ("BLIP_3+CBMobile_2,BLIP_3+CBMobile_3", Self.token),
        ] {
            #expect(try WebSocketHandshake.chooseSubprotocol(from: offer(offered)) == chosen)
        }
        for wrong in [["BLIP_3+CBMobile_4"], ["BLIP_3"], ["blip_3+cbmobile_3"], ["BLIP_3+CBMobile_33"], [], [","]] {
            let offer = try WebSocketHandshake.checkRequest(
                request {
                    $0.headers["Sec-WebSocket-Protocol"] = nil
                    for value in wrong { $0.headers.add("Sec-WebSocket-Protocol", value) }
                })
            let error = #expect(throws: WebSocketHandshakeError.self) {
                try WebSocketHandshake.chooseSubprotocol(from: offer)
            }
            #expect(error?.status == 400)
        }
    }
}
