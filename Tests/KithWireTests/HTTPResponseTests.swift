import Testing

@testable import KithWire

@Suite("HTTP: responses")
struct HTTPResponseTests {
    static let refusals = [
        HTTPRequestTests.Refusal("an empty line first", "\r\nHTTP/1.1 200 OK\r\n\r\n"),
        HTTPRequestTests.Refusal("bare LF", "HTTP/1.1 200 OK\n\n"),
        HTTPRequestTests.Refusal("no space after the status", "HTTP/1.1 200\r\n\r\n"),
        HTTPRequestTests.Refusal("a status of two digits", "HTTP/1.1 20 OK\r\n\r\n"),
        HTTPRequestTests.Refusal("a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n"),
        HTTPRequestTests.Refusal("a status of letters", "HTTP/1.1 2x0 OK\r\n\r\n"),
        HTTPRequestTests.Refusal("status 099", "HTTP/1.1 099 OK\r\n\r\n"),
        HTTPRequestTests.Refusal("status 600", "HTTP/1.1 600 OK\r\n\r\n"),
        HTTPRequestTests.Refusal("a sign", "HTTP/1.1 +20 OK\r\n\r\n"),
        HTTPRequestTests.Refusal("two spaces", "HTTP/1.1  200 OK\r\n\r\n"),
        HTTPRequestTests.Refusal("another protocol", "ICY 200 OK\r\n\r\n"),
        HTTPRequestTests.Refusal("HTTP/2", "HTTP/2.0 200 OK\r\n\r\n", 505),
        HTTPRequestTests.Refusal("NUL in the reason", "HTTP/1.1 200 O\u{0}K\r\n\r\n"),
        HTTPRequestTests.Refusal("a folded field", "HTTP/1.1 200 OK\r\nX: 1\r\n 2\r\n\r\n"),
        HTTPRequestTests.Refusal(
            "length and coding", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
        HTTPRequestTests.Refusal(
            "two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"),
        HTTPRequestTests.Refusal("another coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        HTTPRequestTests.Refusal("a coding in HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
        HTTPRequestTests.Refusal("a bad length in a 204", "HTTP/1.1 204 No Content\r\nContent-Length: x\r\n\r\n"),
    ]

    @Test("what is not a response is refused however it is cut", arguments: refusals)
    func refused(_ refusal: HTTPRequestTests.Refusal) {
        for feed in everyFeed(Array(refusal.text.utf8)) {
            #expect(tellResponses(feed) == [.failed(refusal.status)])
        }
    }

    @Test("responses come out the same however they are cut: length, chunks, none, interim ones before")
    func pipeline() {
        let text =
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
            + "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}"
            + "HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n0\r\n\r\n"
            + "HTTP/1.1 304 Not Modified\r\nContent-Length: 77\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"
        let expected: [HTTPResponseTold] = [
            .interim(100), .interim(103),
            .response(HTTPResponseHead(status: 201, headers: ["Content-Length": "2"]), body: Array("{}".utf8)),
            .response(
                HTTPResponseHead(status: 200, reason: "", headers: ["Transfer-Encoding": "chunked"]),
                body: Array("[]".utf8)),
            .response(HTTPResponseHead(status: 304, headers: ["Content-Length": "77"]), body: []),
            .response(HTTPResponseHead(status: 204), body: []),
        ]
        for feed in everyFeed(Array(text.utf8)) {
            #expect(tellResponses(feed) == expected)
            #expect(tellResponses(feed, isEnded: true) == expected)
        }
    }

    @Test("a body without length or chunks lasts until the connection ends, within its limit")
    func untilEnd() {
        let bytes = Array("HTTP/1.0 200 OK\r\nServer: x\r\n\r\nhello".utf8)
        let head = HTTPResponseHead(status: 200, minorVersion: 0, headers: ["Server": "x"])
        for feed in everyFeed(bytes) {
            #expect(tellResponses(feed).isEmpty)
            #expect(tellResponses(feed, isEnded: true) == [.response(head, body: Array("hello".utf8))])
        }
        var limits = HTTPLimits()
        limits.bodyBytesMax = 4
        for feed in everyFeed(bytes) {
            var parser = HTTPResponseParser(limits: limits)
            var body: [UInt8] = []
            let error = #expect(throws: HTTPParseError.self) {
                for piece in feed {
                    piece.withUnsafeBytes { parser.receive($0) }
                    while let event = try parser.nextEvent() {
                        if case .body(let bytes) = event { body += bytes }
                    }
                }
            }
            #expect(error?.status == 413)
            #expect(body == Array("hell".utf8))
        }
    }

    @Test("an end inside any other response is an error")
    func cutOff() {
        for text in [
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        ] {
            let bytes = Array(text.utf8)
            for count in 1..<bytes.count {
                #expect(tellResponses([Array(bytes[..<count])], isEnded: true) == [.failed(400)])
            }
            #expect(tellResponses([bytes], isEnded: true).count == 1)
        }
    }

    @Test("the answer to HEAD has no body, whatever its fields say")
    func head() {
        let bytes = Array("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n".utf8)
        for feed in everyFeed(bytes) {
            #expect(
                tellResponses(feed, answersHead: true) == [
                    .response(HTTPResponseHead(status: 200, headers: ["Content-Length": "99"]), body: [])
                ])
        }
    }

    @Test("after a 101 the bytes belong to the new protocol")
    func upgrade() throws {
        var parser = HTTPResponseParser()
        let frames: [UInt8] = [0x82, 0x00, 0x0A]
        (Array("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n".utf8) + frames)
            .withUnsafeBytes { parser.receive($0) }
        guard case .head(let head) = try parser.nextEvent() else {
            Issue.record("no head")
            return
        }
        #expect(head.status == 101)
        #expect(try parser.nextEvent() == .end)
        #expect(try parser.nextEvent() == nil)
        #expect(!parser.isInsideResponse)
        #expect(parser.takeRemainder() == frames)
    }

    @Test("interim responses without end are refused")
    func interimFlood() {
        let text = String(repeating: "HTTP/1.1 102 Processing\r\n\r\n", count: 17)
        #expect(tellResponses([Array(text.utf8)]).last == .failed(400))
    }
}
