import Testing

@testable import KithCommands

@Suite("Documents in a stream of bytes")
struct SplitterTests {
    private func documents(_ pieces: [[UInt8]], max: Int = 1_000) throws -> [String] {
        var splitter = DocumentSplitter(documentBytesMax: max)
        var found: [String] = []
        func note(_ bytes: [UInt8], _ line: Int) { found.append("\(line):" + String(decoding: bytes, as: UTF8.self)) }
        for piece in pieces { try splitter.receive(piece, note) }
        try splitter.finish(note)
        return found
    }

    private func everyWay(_ text: String) throws -> [String] {
        let bytes = Array(text.utf8)
        let whole = try documents([bytes])
        #expect(try documents(bytes.map { [$0] }) == whole)
        for cut in 0...bytes.count { #expect(try documents([Array(bytes[..<cut]), Array(bytes[cut...])]) == whole) }
        return whole
    }

    @Test("lines: empty ones are passed over, numbers count all, the last needs no end")
    func lines() throws {
        #expect(
            try everyWay("{\"a\":1}\n\n  \n{\"b\":2}\r\n{\"c\":\"ü\"}") == [
                "1:{\"a\":1}", "4:{\"b\":2}", "5:{\"c\":\"ü\"}",
            ])
        #expect(try everyWay("\n\n{\"a\":1}\n") == ["3:{\"a\":1}"])
        #expect(try everyWay("") == [])
        #expect(try everyWay(" \n") == [])
    }

    @Test("a broken line is handed over as it is, and the next one is found")
    func brokenLine() throws {
        #expect(try everyWay("{\"a\":[\n{\"b\":2}\n") == ["1:{\"a\":[", "2:{\"b\":2}"])
    }

    @Test("an array: nested brackets, and brackets and commas in strings")
    func array() throws {
        let text = "\n[ {\"a\":[1,[2]]},\n  {\"b\":\"],[\\\"}\\\\\"}\n, 3 ]\n "
        #expect(try everyWay(text) == ["2:{\"a\":[1,[2]]}", "3:{\"b\":\"],[\\\"}\\\\\"}\n", "4:3 "])
        #expect(try everyWay("[]") == [])
    }

    @Test("an array that ends too early is told, wherever it is cut")
    func incomplete() {
        let bytes = Array("[{\"a\":\"x\\\"\"},{\"b\":[1]}]".utf8)
        for cut in 1..<bytes.count {
            #expect(throws: JSONElementSplitter.Fault.incomplete) { try documents([Array(bytes[..<cut])]) }
        }
    }

    @Test("what follows an array, or closes what was not opened, is refused")
    func malformed() {
        for text in ["[1]x", "[1][2]", "[1]]"] {
            #expect(throws: JSONElementSplitter.Fault.malformed) { try documents([Array(text.utf8)]) }
        }
    }

    @Test("too large a document is told without keeping it")
    func tooLarge() throws {
        let long = String(repeating: "x", count: 5_000)
        #expect(throws: JSONElementSplitter.Fault.tooLarge) { try documents([Array("[\"\(long)\"]".utf8)]) }
        let found = try documents([Array("\(long)\n{}\n".utf8)])
        #expect(found.count == 2)
        #expect(found[0].utf8.count == 2 + 1_001)
        #expect(found[1] == "2:{}")
    }

    @Test("the rows of an answer are found at the second level, whatever stands around them")
    func answer() throws {
        let text = "{\"total_rows\":2,\"x\":{\"y\":1},\"rows\":[{\"id\":\"[\"},\n{\"id\":\"b\"}],\"offset\":[0]}\n"
        for size in 1...20 {
            var splitter = JSONElementSplitter(arrayDepth: 2, elementBytesMax: 100)
            var rows: [String] = []
            let bytes = Array(text.utf8)
            for start in stride(from: 0, to: bytes.count, by: size) {
                try splitter.receive(bytes[start..<min(start + size, bytes.count)]) { row, _ in
                    rows.append(String(decoding: row, as: UTF8.self))
                }
            }
            try splitter.finish()
            #expect(rows == ["{\"id\":\"[\"}", "{\"id\":\"b\"}"])
        }
    }
}
