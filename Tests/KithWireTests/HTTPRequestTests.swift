import Testing

@testable import KithWire

@Suite("HTTP: requests")
struct HTTPRequestTests {
    /// A stream that is refused, and the status that says so.
    struct Refusal: Sendable, CustomTestStringConvertible {
        let name: String
        let text: String
        let status: Int
        var testDescription: String { name }

        init(_ name: String, _ text: String, _ status: Int = 400) {
            self.name = name
            self.text = text
            self.status = status
        }
    }

    static let host = "Host: a\r\n"
    static let post = "POST / HTTP/1.1\r\nHost: a\r\n"

    static let refusals = [
        Refusal("bare LF after the request line", "GET / HTTP/1.1\nHost: a\r\n\r\n"),
        Refusal("bare LF after a field", "GET / HTTP/1.1\r\nHost: a\n\r\n"),
        Refusal("bare LF as the empty line", "GET / HTTP/1.1\r\nHost: a\r\n\n"),
        Refusal("bare CR in a field", "GET / HTTP/1.1\r\nHost: a\rb: c\r\n\r\n"),
        Refusal("CR CR LF", "GET / HTTP/1.1\r\r\nHost: a\r\n\r\n"),
        Refusal("bare CR in the target", "GET /a\rb HTTP/1.1\r\nHost: a\r\n\r\n"),
        Refusal("two empty lines before a request", "\r\n\r\nGET / HTTP/1.1\r\n\(host)\r\n"),
        Refusal("one word", "GET\r\n\(host)\r\n"),
        Refusal("HTTP/0.9", "GET /\r\n\r\n"),
        Refusal("two spaces", "GET  / HTTP/1.1\r\n\(host)\r\n"),
        Refusal("a space before the method", " GET / HTTP/1.1\r\n\(host)\r\n"),
        Refusal("a space after the version", "GET / HTTP/1.1 \r\n\(host)\r\n"),
        Refusal("a tab between words", "GET\t/ HTTP/1.1\r\n\(host)\r\n"),
        Refusal("a space in the target", "GET /a b HTTP/1.1\r\n\(host)\r\n"),
        Refusal("a method that is no token", "G@T / HTTP/1.1\r\n\(host)\r\n"),
        Refusal("an endless method", String(repeating: "A", count: 25) + " / HTTP/1.1\r\n\(host)\r\n", 501),
        Refusal("HTTP/2.0", "GET / HTTP/2.0\r\n\(host)\r\n", 505),
        Refusal("HTTP/1.2", "GET / HTTP/1.2\r\n\(host)\r\n", 505),
        Refusal("http/1.1 in lower case", "GET / http/1.1\r\n\(host)\r\n"),
        Refusal("HTTP/1.10", "GET / HTTP/1.10\r\n\(host)\r\n"),
        Refusal("HTTP/1", "GET / HTTP/1\r\n\(host)\r\n"),
        Refusal("the first line of HTTP/2", "PRI * HTTP/2.0\r\n\r\n", 505),
        Refusal("authority form", "CONNECT a:80 HTTP/1.1\r\n\(host)\r\n"),
        Refusal("a relative target", "GET a/b HTTP/1.1\r\n\(host)\r\n"),
        Refusal("another scheme", "GET ftp://a/ HTTP/1.1\r\n\(host)\r\n"),
        Refusal("no authority", "GET http:///x HTTP/1.1\r\n\(host)\r\n"),
        Refusal("an asterisk for GET", "GET * HTTP/1.1\r\n\(host)\r\n"),
        Refusal("a fragment", "GET /a#b HTTP/1.1\r\n\(host)\r\n"),
        Refusal("a percent sign alone", "GET /a% HTTP/1.1\r\n\(host)\r\n"),
        Refusal("one hex digit", "GET /a%2 HTTP/1.1\r\n\(host)\r\n"),
        Refusal("no hex digits", "GET /a%zz HTTP/1.1\r\n\(host)\r\n"),
        Refusal("a decoded path that is not UTF-8", "GET /%ff HTTP/1.1\r\n\(host)\r\n"),
        Refusal("an overlong encoding in a path", "GET /%c0%af HTTP/1.1\r\n\(host)\r\n"),
        Refusal("a decoded query that is not UTF-8", "GET /?a=%ed%a0%80 HTTP/1.1\r\n\(host)\r\n"),
        Refusal("raw UTF-8 in the target", "GET /\u{E9} HTTP/1.1\r\n\(host)\r\n"),
        Refusal("a NUL in the target", "GET /a\u{0} HTTP/1.1\r\n\(host)\r\n"),
        Refusal("a long target", "GET /" + String(repeating: "a", count: 8_192) + " HTTP/1.1\r\n\(host)\r\n", 414),
        Refusal("no Host in HTTP/1.1", "GET / HTTP/1.1\r\n\r\n"),
        Refusal("two Hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"),
        Refusal("two Hosts in HTTP/1.0", "GET / HTTP/1.0\r\nHost: a\r\nhost: b\r\n\r\n"),
        Refusal("a Host with a path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"),
        Refusal("a Host with a user", "GET / HTTP/1.1\r\nHost: a@b\r\n\r\n"),
        Refusal("a Host with a space", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"),
        Refusal("a folded field", "GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n 2\r\n\r\n"),
        Refusal("a field folded by a tab", "GET / HTTP/1.1\r\nHost: a\r\n\tX: 2\r\n\r\n"),
        Refusal("a space before the first field", "GET / HTTP/1.1\r\n Host: a\r\n\r\n"),
        Refusal("a space before the colon", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length : 5\r\n\r\n"),
        Refusal("a space in a name", "GET / HTTP/1.1\r\nHost: a\r\nX Y: 5\r\n\r\n"),
        Refusal("no colon", "GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n"),
        Refusal("no name", "GET / HTTP/1.1\r\nHost: a\r\n: x\r\n\r\n"),
        Refusal("a NUL in a name", "GET / HTTP/1.1\r\nHost: a\r\nX\u{0}: 1\r\n\r\n"),
        Refusal("a NUL in a value", "GET / HTTP/1.1\r\nHost: a\r\nX: a\u{0}b\r\n\r\n"),
        Refusal("DEL in a value", "GET / HTTP/1.1\r\nHost: a\r\nX: \u{7F}\r\n\r\n"),
        Refusal("ESC in a value", "GET / HTTP/1.1\r\nHost: a\r\nX: \u{1B}[31m\r\n\r\n"),
        Refusal("a name beyond ASCII", "GET / HTTP/1.1\r\nHost: a\r\nX\u{E9}: 1\r\n\r\n"),
        Refusal(
            "too many fields", "GET / HTTP/1.1\r\n" + String(repeating: "X: 1\r\n", count: 101) + "\r\n", 431),
        Refusal(
            "a long head", "GET / HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "x", count: 33_000) + "\r\n\r\n", 431),
        Refusal("a head without an end", "GET / HTTP/1.1\r\nX: " + String(repeating: "x", count: 33_000), 431),
        Refusal("length and coding", post + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        Refusal("coding and length", post + "transfer-encoding: chunked\r\ncontent-length: 0\r\n\r\n0\r\n\r\n"),
        Refusal("two lengths", post + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc"),
        Refusal("two lengths in one field", post + "Content-Length: 3, 3\r\n\r\nabc"),
        Refusal("a signed length", post + "Content-Length: +3\r\n\r\nabc"),
        Refusal("a negative length", post + "Content-Length: -3\r\n\r\nabc"),
        Refusal("a hexadecimal length", post + "Content-Length: 0x3\r\n\r\nabc"),
        Refusal("an empty length", post + "Content-Length:\r\n\r\nabc"),
        Refusal("a length with a space", post + "Content-Length: 1 0\r\n\r\nabc"),
        Refusal("a length beyond 64 bits", post + "Content-Length: 18446744073709551619\r\n\r\nabc"),
        Refusal("a length beyond the limit", post + "Content-Length: 999999999999\r\n\r\nabc", 413),
        Refusal("two codings", post + "Transfer-Encoding: gzip, chunked\r\n\r\n", 501),
        Refusal("chunked twice", post + "Transfer-Encoding: chunked, chunked\r\n\r\n", 501),
        Refusal(
            "chunked in two fields", post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 501),
        Refusal("identity", post + "Transfer-Encoding: identity\r\n\r\n", 501),
        Refusal("chunked with a vertical tab", post + "Transfer-Encoding: \u{B}chunked\r\n\r\n"),
        Refusal("a coding that only looks like chunked", post + "Transfer-Encoding: xchunked\r\n\r\n", 501),
        Refusal("a coding without a value", post + "Transfer-Encoding:\r\n\r\n", 501),
        Refusal("a coding in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ]

    static let chunkRefusals = [
        Refusal("no size", "\r\n"), Refusal("a size that is not hex", "g\r\n"), Refusal("0x", "0x5\r\nabcde\r\n"),
        Refusal("a signed size", "+5\r\nabcde\r\n"), Refusal("a negative size", "-5\r\n"),
        Refusal("a space after the size", "5 \r\nabcde\r\n0\r\n\r\n"), Refusal("a space before it", " 5\r\nabcde\r\n"),
        Refusal("bare LF after the size", "5\nabcde\r\n"), Refusal("bare CR in an extension", "5;a\rb\r\nabcde\r\n"),
        Refusal("bare LF in an extension", "5;a\nb\r\nabcde\r\n"),
        Refusal("a control character in an extension", "5;\u{1}\r\nabcde\r\n"),
        Refusal("a long chunk", "5\r\nabcdefg\r\n"), Refusal("CR alone after a chunk", "5\r\nabcde\rx"),
        Refusal("LF alone after a chunk", "5\r\nabcde\n0\r\n\r\n"),
        Refusal("a size of 16 digits", "0000000000000005\r\n", 413),
        Refusal("a size beyond 64 bits", "fffffffffffffffff\r\n", 413),
        Refusal("a size beyond the limit", "fffffffff\r\n", 413),
        Refusal("a line without an end", "5;" + String(repeating: "x", count: 300), 431),
        Refusal("a folded trailer", "0\r\n X: 1\r\n\r\n"), Refusal("a trailer without a colon", "0\r\nX\r\n\r\n"),
        Refusal("a trailer with bare LF", "0\r\nX: 1\n\r\n"),
        Refusal("endless trailers", "0\r\n" + String(repeating: "X: 1\r\n", count: 2_000), 431),
    ]

    @Test("what could be read in two ways, or not at all, is refused with the right status", arguments: refusals)
    func refused(_ refusal: Refusal) {
        let bytes = Array(refusal.text.utf8)
        let feeds = bytes.count < 1_000 ? everyFeed(bytes) : [[bytes], bytes.map { [$0] }]
        for feed in feeds { #expect(tellRequests(feed) == [.failed(refusal.status)]) }
    }

    @Test("chunks that are not exactly what RFC 9112 says are refused", arguments: chunkRefusals)
    func chunksRefused(_ refusal: Refusal) {
        let bytes = Array((Self.post + "Transfer-Encoding: chunked\r\n\r\n" + refusal.text).utf8)
        let feeds = bytes.count < 1_000 ? everyFeed(bytes) : [[bytes], bytes.map { [$0] }]
        for feed in feeds { #expect(tellRequests(feed) == [.failed(refusal.status)]) }
    }

    @Test("requests come out the same however they are cut, one after the other on one connection")
    func pipeline() {
        let text =
            "\r\nPUT /db/doc?rev=1-a HTTP/1.1\r\nHost: a\r\nX-Empty:\r\nContent-Length:  5 \r\n\r\nhello"
            + "GET / HTTP/1.0\r\n\r\n"
            + "\r\nPOST /db/_bulk_docs HTTP/1.1\r\nHOST: [::1]:4984\r\nTransfer-Encoding: Chunked\r\n\r\n"
            + "5;ext=\"1\"\r\nhello\r\n00A\r\n, everyone\r\n0\r\nChecksum: 1\r\n\r\n"
            + "DELETE /db HTTP/1.1\r\nHost:\r\nContent-Length: 0\r\n\r\n"
        let expected: [HTTPRequestTold] = [
            .request(
                HTTPRequestHead(
                    method: "PUT", target: HTTPTarget("/db/doc?rev=1-a")!,
                    headers: ["Host": "a", "X-Empty": "", "Content-Length": "5"]),
                body: Array("hello".utf8)),
            .request(HTTPRequestHead(method: "GET", target: HTTPTarget("/")!, minorVersion: 0), body: []),
            .request(
                HTTPRequestHead(
                    method: "POST", target: HTTPTarget("/db/_bulk_docs")!,
                    headers: ["HOST": "[::1]:4984", "Transfer-Encoding": "Chunked"]),
                body: Array("hello, everyone".utf8)),
            .request(
                HTTPRequestHead(
                    method: "DELETE", target: HTTPTarget("/db")!, headers: ["Host": "", "Content-Length": "0"]),
                body: []),
        ]
        for feed in everyFeed(Array(text.utf8)) { #expect(tellRequests(feed) == expected) }
    }

    @Test("an end inside a request is an error, an end between requests is none")
    func ends() {
        let text = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
        let bytes = Array(text.utf8)
        for count in 1..<bytes.count {
            #expect(tellRequests([Array(bytes[..<count])], isEnded: true) == [.failed(400)])
        }
        #expect(tellRequests([bytes], isEnded: true).count == 1)
        #expect(tellRequests([[]], isEnded: true).isEmpty)
    }

    @Test("the limit of a body may be set after its head, for chunks too")
    func bodyLimit() throws {
        for framing in [
            "Content-Length: 5\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
        ] {
            for (limit, isTaken) in [(4, false), (5, true)] {
                var parser = HTTPRequestParser()
                Array((Self.post + framing).utf8).withUnsafeBytes { parser.receive($0) }
                guard case .head = try parser.nextEvent() else {
                    Issue.record("no head")
                    return
                }
                parser.bodyBytesMax = limit
                var body: [UInt8] = []
                do {
                    while let event = try parser.nextEvent() {
                        if case .body(let bytes) = event { body += bytes }
                    }
                    #expect(isTaken && body == Array("hello".utf8))
                } catch {
                    #expect(!isTaken && error.status == 413)
                    #expect(throws: HTTPParseError.self) { try parser.nextEvent() }
                }
            }
        }
    }

    @Test("what follows an upgrade request is handed back untouched")
    func remainder() throws {
        var parser = HTTPRequestParser()
        let frames: [UInt8] = [0x82, 0x80, 0x0A, 0x0D, 0, 0]
        (Array("GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n\r\n".utf8) + frames)
            .withUnsafeBytes { parser.receive($0) }
        guard case .head = try parser.nextEvent() else {
            Issue.record("no head")
            return
        }
        #expect(try parser.nextEvent() == .end)
        #expect(!parser.isInsideRequest || parser.bufferedBytes == frames.count)
        #expect(parser.takeRemainder() == frames)
        #expect(parser.bufferedBytes == 0)
    }

    @Test("a large body comes in pieces and memory is given back")
    func largeBody() throws {
        var parser = HTTPRequestParser()
        Array((Self.post + "Content-Length: 1000000\r\n\r\n").utf8).withUnsafeBytes { parser.receive($0) }
        _ = try parser.nextEvent()
        var total = 0
        let piece = [UInt8](repeating: 7, count: 100_000)
        for _ in 0..<10 {
            piece.withUnsafeBytes { parser.receive($0) }
            while let event = try parser.nextEvent() {
                if case .body(let bytes) = event {
                    #expect(bytes.count <= WireLimits.httpBodyEventBytesMax)
                    total += bytes.count
                }
            }
            #expect(parser.bufferedBytes == 0)
        }
        #expect(total == 1_000_000)
    }

    @Test("keeping a connection, and waiting for 100 Continue, follow the version and the fields")
    func connectionFields() {
        func head(_ minor: Int, _ headers: HTTPHeaders) -> HTTPRequestHead {
            HTTPRequestHead(method: "GET", target: HTTPTarget("/")!, minorVersion: minor, headers: headers)
        }
        #expect(head(1, [:]).keepsAlive)
        #expect(!head(1, ["connection": "x, CLOSE"]).keepsAlive)
        #expect(!head(0, [:]).keepsAlive)
        #expect(head(0, ["Connection": "Keep-Alive"]).keepsAlive)
        #expect(head(1, ["Expect": "100-Continue"]).expectsContinue)
        #expect(!head(0, ["Expect": "100-continue"]).expectsContinue)
    }
}
