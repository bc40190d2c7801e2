import KithDocuments
import Testing

@Suite("Canonical JSON")
struct CanonicalJSONTests {
    private func canonical(_ text: String) throws -> String {
        String(decoding: try CanonicalJSON.canonicalize(Array(text.utf8)), as: UTF8.self)
    }

    @Test("blanks go, keys are ordered by their bytes, escapes are the shortest")
    func basics() throws {
        #expect(try canonical(" { \"b\" : [ 1 , 2 ] ,\r\n\t\"a\" : null } ") == "{\"a\":null,\"b\":[1,2]}")
        #expect(try canonical("[ ]") == "[]")
        #expect(try canonical("{\n}") == "{}")
        #expect(try canonical("\"\\u0041\\/\\u001F\\u007f\\u000a\\u00e9\"") == "\"A/\\u001f\u{7F}\\n\u{E9}\"")
        #expect(try canonical("\"\\ud83d\\uDE04\"") == "\"😄\"")
        #expect(
            try canonical("{\"a\":{\"z\":1,\"y\":{\"b\":1,\"a\":2}},\"A\":0}")
                == "{\"A\":0,\"a\":{\"y\":{\"a\":2,\"b\":1},\"z\":1}}")
    }

    @Test("keys are ordered by what they stand for, not as they are spelled")
    func keyOrder() throws {
        // The quote is 0x22 and the escape for it begins with 0x5C; NUL is lower than all.
        #expect(try canonical(##"{"#": 1, "\"":2, "\u0000":3, "":4}"##) == ##"{"":4,"\u0000":3,"\"":2,"#":1}"##)
        #expect(try canonical(#"{"k":1,"k\u0000ey":2}"#) == #"{"k":1,"k\u0000ey":2}"#)
        // UTF-16 order would put U+10000 before U+FFFF.
        #expect(try canonical("{\"\u{10000}\":1,\"\u{FFFF}\":2}") == "{\"\u{FFFF}\":2,\"\u{10000}\":1}")
    }

    @Test("composed and decomposed letters are two keys")
    func normalization() throws {
        let bytes = try CanonicalJSON.canonicalize(Array("{\"\u{E9}\":12,\"e\u{301}\":13}".utf8))
        #expect(bytes == Array("{\"e\u{301}\":13,\"\u{E9}\":12}".utf8))
    }

    @Test("integers keep every digit")
    func integers() throws {
        let exact = """
            {"i64max":9223372036854775807,"i64min":-9223372036854775808,"neg":-63081350000001,\
            "nested":[{"counter":1234567890123456789}],"p53":9007199254740992,"p53plus1":9007199254740993,\
            "past64":36893488147419103233,"u64max":18446744073709551615}
            """
        #expect(try canonical(exact) == exact)
        let longest = String(repeating: "7", count: DocumentLimits.numberCharactersMax)
        #expect(try canonical(longest) == longest)
        expectRefusal(.badDocument) { try canonical(longest + "7") }
        expectRefusal(.badDocument) { try canonical("0." + longest) }
    }

    @Test("every way to write a number gives the text of its value", arguments: JSONTextMaker.numbers)
    func numbers(written: String, expected: String) throws {
        #expect(try canonical(written) == expected)
        #expect(try canonical(expected) == expected)
        #expect(try canonical("[\(written)]") == "[\(expected)]")
        if expected.contains(where: { $0 == "." || $0 == "e" }) {
            #expect(Double(expected)?.bitPattern == Double(written)?.bitPattern)
        }
    }

    @Test("doubles keep their bits")
    func doublesKeepTheirBits() throws {
        var random = SeededGenerator(seed: 2)
        for _ in 0..<20_000 {
            let double = Double(bitPattern: random.next())
            guard double.isFinite else { continue }
            let written = double.description
            let text = try canonical(written)
            #expect(Double(text) == double, "\(written) became \(text)")
            #expect(JSONValue.double(double).canonicalText() == text)
        }
    }

    @Test("short decimals, which are handled without a double, agree with the double's own shortest digits")
    func shortDecimals() throws {
        var random = SeededGenerator(seed: 3)
        for _ in 0..<20_000 {
            let digits = Int64.random(in: 1..<1_000_000_000_000_000, using: &random)
            let shortened =
                digits / [1, 1_000, 1_000_000, 1_000_000_000, 1_000_000_000_000].randomElement(using: &random)!
            let written = "\(max(shortened, 1))e\(Int.random(in: -320...320, using: &random))"
            guard let double = Double(written), double.isFinite else { continue }
            #expect(try canonical(written) == JSONValue.double(double).canonicalText())
        }
    }

    @Test("many numbers that grow find room")
    func growth() throws {
        let many = "[" + Array(repeating: "9e15", count: 5_000).joined(separator: ",") + "]"
        let expected = "[" + Array(repeating: "9000000000000000", count: 5_000).joined(separator: ",") + "]"
        #expect(try canonical(many) == expected)
        #expect(try canonical("9e15") == "9000000000000000")
    }

    @Test("random texts get the form that a tree and a sort give, and keep it", arguments: 0..<40)
    func random(seed: UInt64) throws {
        var maker = JSONTextMaker(random: SeededGenerator(seed: seed))
        for _ in 0..<100 {
            let (messy, canonical) = maker.text(depth: 5)
            let result = try CanonicalJSON.canonicalize(messy)
            #expect(result == canonical, "seed \(seed): \(String(decoding: messy, as: UTF8.self))")
            #expect(try CanonicalJSON.canonicalize(result) == result)
            let value = try JSONValue(parsing: messy)
            #expect(value.canonicalBytes() == canonical)
            #expect(try JSONValue(parsing: value.prettyText()) == value)
            #expect(JSONValue(canonical: canonical) == value)
        }
    }

    @Test("a random text cut anywhere is refused", arguments: 0..<10)
    func cut(seed: UInt64) throws {
        var maker = JSONTextMaker(random: SeededGenerator(seed: seed + 1_000))
        for _ in 0..<10 {
            let text = Array("[".utf8) + maker.text(depth: 3).messy + Array("]".utf8)
            for end in 0..<text.count {
                expectRefusal(.badDocument) { try CanonicalJSON.canonicalize(Array(text[..<end])) }
            }
        }
    }

    @Test("a random text with a byte changed is refused or has a stable canonical form", arguments: 0..<10)
    func changed(seed: UInt64) throws {
        var maker = JSONTextMaker(random: SeededGenerator(seed: seed + 2_000))
        for _ in 0..<100 {
            var text = maker.text(depth: 3).messy
            text[Int.random(in: 0..<text.count, using: &maker.random)] = UInt8.random(in: 0...255, using: &maker.random)
            guard let canonical = try? CanonicalJSON.canonicalize(text) else { continue }
            #expect(try CanonicalJSON.canonicalize(canonical) == canonical)
            #expect(JSONValue(canonical: canonical).canonicalBytes() == canonical)
        }
    }

    @Test("many members out of order, more than the first room for them")
    func manyMembers() throws {
        let names = (0..<2_000).map { "name\($0)" }
        let text = "{" + names.reversed().map { "\"\($0)\":[{\"b\":1,\"a\":\"\($0)\"}]" }.joined(separator: ", ") + "}"
        let sorted = names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        let expected = "{" + sorted.map { "\"\($0)\":[{\"a\":\"\($0)\",\"b\":1}]" }.joined(separator: ",") + "}"
        #expect(try canonical(text) == expected)
    }
}
