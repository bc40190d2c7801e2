import KithDocuments
import Testing

@testable import KithWire

@Suite("HTTP: targets, fields and heads")
struct HTTPTargetTests {
    @Test("segments are decoded one by one: an encoded slash is data")
    func segments() throws {
        let target = try #require(HTTPTarget("/db/a%2Fb%2fc/%E2%82%AC+%20%25"))
        #expect(target.segments == ["db", "a/b/c", "\u{20AC}+ %"])
        #expect(HTTPTarget("/")?.segments == [])
        #expect(HTTPTarget("/db/")?.segments == ["db"])
        #expect(HTTPTarget("//db")?.segments == ["", "db"])
        #expect(HTTPTarget("/db//x")?.segments == ["db", "", "x"])
        #expect(HTTPTarget("/db/..%2f../.")?.segments == ["db", "../..", "."])
        #expect(HTTPTarget("/a%00b")?.segments == ["a\u{0}b"])
        #expect(HTTPTarget("*")?.segments == [])
    }

    @Test("a query's items are decoded, a plus is a plus, a missing value is empty")
    func query() throws {
        let target = try #require(HTTPTarget(#"/db?startkey="a+b"&rev=1-a%26b%3Dc&flag&=x&&a=b=c?/"#))
        #expect(target[query: "startkey"] == #""a+b""#)
        #expect(target[query: "rev"] == "1-a&b=c")
        #expect(target[query: "flag"] == "")
        #expect(target[query: ""] == "x")
        #expect(target[query: "a"] == "b=c?/")
        #expect(target[query: "none"] == nil)
        #expect(target.query.count == 5)
        #expect(HTTPTarget("/?")?.query == [])
    }

    @Test("the absolute form loses its authority")
    func absoluteForm() {
        #expect(HTTPTarget("http://host:80/db/x?a=1")?.segments == ["db", "x"])
        #expect(HTTPTarget("HTTPS://host")?.segments == [])
        #expect(HTTPTarget("http://host?a=1")?[query: "a"] == "1")
        for wrong in ["", "http://", "http:/x", "db", "?a", "/a b", "/\u{E9}", "/%", "/%1", "/%g0", "/a#", "/?%"] {
            #expect(HTTPTarget(wrong) == nil, "\(wrong)")
        }
    }

    @Test("what is percent-encoded comes back as one segment or one item")
    func encoding() {
        for text in ["a/b?c#d&e=f+g h%", "\u{20AC}\u{1F604}", "..", "\u{0}\r\n", ""] {
            let encoded = PercentEncoding.text(text)
            #expect(HTTPTarget("/x/\(encoded)/y")?.segments == ["x", text, "y"])
            #expect(HTTPTarget("/?k=\(encoded)")?[query: "k"] == text)
        }
    }

    @Test("field names are the same in any ASCII case, and only in that")
    func fields() {
        var headers: HTTPHeaders = ["Content-Type": "a", "X": "1", "x": "2"]
        #expect(headers["content-TYPE"] == "a")
        #expect(headers.values(of: "X") == ["1", "2"])
        headers["X"] = "3"
        #expect(headers.values(of: "x") == ["3"])
        headers["x"] = nil
        #expect(headers["X"] == nil)
        #expect(!HTTPHeaders.isSame("K", "\u{212A}"))
        headers = ["A": " one ,, two\t,", "a": "Three"]
        #expect(headers.listMembers(of: "a") == ["one", "two", "Three"])
        #expect(headers.list("A", contains: "THREE"))
        #expect(!headers.list("A", contains: "thre"))
    }

    @Test("a value cannot begin a new line or end a head")
    func injection() {
        var out: [UInt8] = []
        HTTPResponseHead(
            status: 200, reason: "OK\r\nX: 1", headers: ["Location\r\nY": "/a\r\nSet-Cookie: x\u{0}", "Z": "\u{20AC}"]
        ).append(to: &out)
        #expect(
            String(decoding: out, as: UTF8.self)
                == "HTTP/1.1 200 OK  X: 1\r\nLocation  Y: /a  Set-Cookie: x \r\nZ: \u{20AC}\r\n\r\n")
    }

    @Test("a head that is written is read again")
    func roundTrip() {
        let request = HTTPRequestHead(
            method: "PUT", target: HTTPTarget("/db/a%2Fb?rev=1")!,
            headers: ["Host": "a:1", "Content-Length": "0", "X": "a\tb"])
        var out: [UInt8] = []
        request.append(to: &out)
        #expect(tellRequests([out]) == [.request(request, body: [])])
        out = []
        let response = HTTPResponseHead(status: 201, headers: ["Transfer-Encoding": "chunked", "X": ""])
        response.append(to: &out)
        HTTPChunks.append([1, 2, 3], to: &out)
        HTTPChunks.append([], to: &out)
        HTTPChunks.append([UInt8](repeating: 4, count: 70_000), to: &out)
        HTTPChunks.appendEnd(to: &out)
        #expect(
            tellResponses([out]) == [.response(response, body: [1, 2, 3] + [UInt8](repeating: 4, count: 70_000))])
    }
}
