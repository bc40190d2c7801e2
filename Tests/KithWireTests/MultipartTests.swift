import KithWire
import Testing

@Suite("Bodies of several parts")
struct MultipartTests {
    private static let text =
        "preamble\r\n--b b\r\nContent-Type: a/b\r\nX: y\r\n\r\none\r\n--b\r\n\r\n--b b \t\r\n\r\n\r\n--b b\r\nX: z\r\n\r\n"
        + "\r\n--b b--\r\nepilogue"

    /// The events, with the pieces of each part put together.
    private func events(_ pieces: [[UInt8]]) throws -> [String] {
        var parser = try MultipartParser(boundary: "b b")
        var result: [String] = []
        var body: [UInt8] = []
        for piece in pieces {
            parser.receive(piece)
            while let event = try parser.nextEvent() {
                switch event {
                case .part(let headers):
                    result.append("part " + headers.fields.map { $0.name + "=" + $0.value }.joined())
                case .body(let bytes): body += bytes
                case .partEnd:
                    result.append(String(decoding: body, as: UTF8.self))
                    body = []
                case .end: result.append("end")
                }
            }
        }
        return result
    }

    private static let expected = [
        "part Content-Type=a/bX=y", "one\r\n--b\r\n", "part ", "", "part X=z", "", "end",
    ]

    @Test("parts are the same however the bytes were cut, and only a whole delimiter ends one")
    func cuts() throws {
        let bytes = Array(Self.text.utf8)
        #expect(try events([bytes]) == Self.expected)
        #expect(try events(bytes.map { [$0] }) == Self.expected)
        for place in bytes.indices {
            #expect(try events([Array(bytes[..<place]), Array(bytes[place...])]) == Self.expected)
        }
    }

    @Test("what is cut off has no end")
    func cutOff() throws {
        let bytes = Array(Self.text.utf8)
        let end = bytes.count - "--\r\nepilogue".utf8.count
        for count in 0..<end {
            let found = try events([Array(bytes[..<count])])
            #expect(found.last != "end")
        }
    }

    @Test(
        "bodies that are refused",
        arguments: [
            "--b b\r\nno field\r\n\r\n", "--b b\r\nA b: c\r\n\r\n", "--b bx\r\n\r\n", "--b b\r\nX: a\nb\r\n\r\n",
            "--b b\r\nX: " + String(repeating: "y", count: 10_000),
        ])
    func refused(text: String) {
        #expect(throws: HTTPParseError.self) { try events([Array(text.utf8)]) }
    }

    @Test("a boundary is 1 to 70 printable characters", arguments: ["", "a\r\nb", String(repeating: "a", count: 71)])
    func boundaries(text: String) {
        #expect(throws: HTTPParseError.self) { try MultipartParser(boundary: text) }
    }

    @Test("media types have parameters, in quotes or not")
    func mediaTypes() {
        let type = HTTPMediaType("Multipart/Related; Boundary=\"a;\\\"b\" ; x = y")
        #expect(type?.name == "multipart/related")
        #expect(type?[parameter: "boundary"] == "a;\"b")
        #expect(type?[parameter: "x"] == "y")
        #expect(HTTPMediaType("json") == nil)
        #expect(HTTPMediaType("a/b/c") == nil)
        #expect(HTTPContentDisposition.fileName("attachment; filename=\"a \\\"b\\\".txt\"") == "a \"b\".txt")
        #expect(HTTPContentDisposition.attachment(fileName: "a\"\r\nX: y") == "attachment; filename=\"a\\\"  X: y\"")
    }

    @Test("Accept decides by what fits best, and a weight of 0 says no")
    func accept() {
        for (accept, isAccepted) in [
            ([], true), (["*/*"], true), (["application/json"], false), (["text/html, multipart/*;q=0.5"], true),
            (["*/*, multipart/mixed;q=0"], false), (["multipart/mixed;q=0.0, */*"], false), (["nonsense"], true),
        ] as [([String], Bool)] {
            #expect(HTTPMediaType.isAccepted("multipart/mixed", by: accept) == isAccepted, "\(accept)")
        }
    }

    @Test("ranges lie within the body")
    func ranges() {
        for (text, range) in [
            (nil, .all), ("bytes=0-4", .part(0..<5)), ("bytes=5-", .part(5..<10)), ("bytes=-3", .part(7..<10)),
            ("bytes=-99", .part(0..<10)), ("bytes=9-99", .part(9..<10)), ("bytes=10-", .notSatisfiable),
            ("bytes=-0", .notSatisfiable), ("bytes=4-2", .all), ("bytes=0-1,3-4", .all), ("lines=1-2", .all),
            ("bytes=-", .all), ("bytes=x-1", .all), ("bytes=0-99999999999999999999", .all),
        ] as [(String?, HTTPByteRange)] {
            #expect(HTTPByteRange(text, length: 10) == range, "\(text ?? "none")")
        }
        #expect(HTTPByteRange("bytes=0-", length: 0) == .notSatisfiable)
    }

    /// `gzip.compress(b"abc" * 100, mtime=0)` of Python.
    private static let packed: [UInt8] = [
        31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 75, 76, 74, 78, 28, 69, 196, 33, 0, 132, 184, 196, 208, 44, 1, 0, 0,
    ]

    private func unpacked(_ pieces: [[UInt8]]) throws -> (bytes: [UInt8], isWhole: Bool) {
        let decoder = try GzipDecoder()
        var bytes: [UInt8] = []
        for piece in pieces {
            decoder.receive(piece)
            while let some = try decoder.next() { bytes += some }
        }
        return (bytes, decoder.isAtEnd)
    }

    @Test("gzip is unpacked however it was cut, and what is no gzip is refused")
    func gzip() throws {
        let text = Array(String(repeating: "abc", count: 100).utf8)
        let whole = try unpacked([Self.packed])
        let cut = try unpacked(Self.packed.map { [$0] })
        for found in [whole, cut] {
            #expect(found.bytes == text)
            #expect(found.isWhole)
        }
        for count in 0..<Self.packed.count {
            let part = try unpacked([Array(Self.packed[..<count])])
            #expect(!part.isWhole)
        }
        #expect(throws: HTTPParseError.self) { _ = try unpacked([Self.packed + [1]]) }
        #expect(throws: HTTPParseError.self) { _ = try unpacked([Array("no gzip".utf8)]) }
        #expect(throws: HTTPParseError.self) {
            var wrong = Self.packed
            wrong[wrong.count - 5] ^= 1
            _ = try unpacked([wrong])
        }
    }
}
