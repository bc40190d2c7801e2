import KithDocuments
import Testing

@Suite("JSON values")
struct JSONValueTests {
    @Test("a text is read into the value it stands for")
    func reads() throws {
        let value = try JSONValue(
            parsing: #"{"s":"a\u0000é","n":null,"t":true,"i":-5,"d":1.5,"l":[1,[],{}],"o":{"x":1}}"#)
        #expect(value == ["s": "a\u{0}é", "n": .null, "t": true, "i": -5, "d": 1.5, "l": [1, [], [:]], "o": ["x": 1]])
        #expect(value["s"]?.stringValue == "a\u{0}é")
        #expect(value["n"]?.isNull == true)
        #expect(value["t"]?.boolValue == true)
        #expect(value["i"]?.intValue == -5)
        #expect(value["i"]?.uint64Value == nil)
        #expect(value["d"]?.doubleValue == 1.5)
        #expect(value["d"]?.int64Value == nil)
        #expect(value["l"]?[0]?.int64Value == 1)
        #expect(value["l"]?[3]?.isNull == nil)
        #expect(value["o"]?["x"] == 1)
        #expect(value["o"]?["y"]?.isNull == nil)
        #expect(value["i"]?["x"]?.isNull == nil)
    }

    @Test("numbers keep their kind and every digit")
    func numbers() throws {
        #expect(try JSONValue(parsing: "9223372036854775807").int64Value == .max)
        #expect(try JSONValue(parsing: "-9223372036854775808").int64Value == .min)
        #expect(try JSONValue(parsing: "9223372036854775808") == .largeInteger("9223372036854775808"))
        #expect(try JSONValue(parsing: "-9223372036854775809") == .largeInteger("-9223372036854775809"))
        #expect(try JSONValue(parsing: "18446744073709551615").uint64Value == .max)
        #expect(try JSONValue(parsing: "18446744073709551616").uint64Value == nil)
        #expect(JSONValue(UInt64.max).canonicalText() == "18446744073709551615")
        #expect(try JSONValue(parsing: "1.0") == 1)
        #expect(JSONValue.double(1) == 1)
        #expect(JSONValue.double(-0.0).canonicalText() == "0")
        #expect(try JSONValue(parsing: "9007199254740992.0") != JSONValue(parsing: "9007199254740992"))
        #expect(JSONValue.double(.infinity).canonicalText() == "null")
        #expect(try JSONValue(parsing: "1e300").int64Value == nil)
        #expect(try JSONValue(parsing: String(repeating: "9", count: 400)).doubleValue == nil)
    }

    @Test("equal means equal bytes: composed and decomposed letters differ, in strings and in names")
    func bytes() {
        #expect(JSONValue.string("\u{E9}") != JSONValue.string("e\u{301}"))
        var object = JSONObject()
        object["\u{E9}"] = 1
        object["e\u{301}"] = 2
        #expect(object.count == 2)
        #expect(object["\u{E9}"] == 1)
        #expect(JSONValue.object(object).canonicalBytes() == Array("{\"e\u{301}\":2,\"\u{E9}\":1}".utf8))
    }

    @Test("members are set, replaced and removed")
    func members() {
        var value: JSONValue = ["b": 1]
        value["a"] = "x"
        value["b"] = nil
        value["c"] = .null
        #expect(value.canonicalText() == #"{"a":"x","c":null}"#)
        value["a"] = 2
        #expect(value.objectValue?.names == ["a", "c"])
        var other: JSONValue = 5
        other["x"] = true
        #expect(other == ["x": true])
        #expect(JSONObject([("a", 1), ("a", 2)]) == ["a": 2])
    }

    @Test("text for people")
    func pretty() throws {
        let value: JSONValue = ["a": [1, ["b": "x\n"]], "e": [], "o": [:]]
        let expected = """
            {
              "a": [
                1,
                {
                  "b": "x\\n"
                }
              ],
              "e": [],
              "o": {}
            }
            """
        #expect(value.prettyText() == expected)
        #expect(try JSONValue(parsing: value.prettyText()) == value)
    }

    @Test("bytes that are not canonical never trap the reader of canonical bytes")
    func garbage() {
        var random = SeededGenerator(seed: 9)
        let alphabet = Array("{}[]\",:\\u0atrfn1-e. ".utf8)
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0...24, using: &random)).map { _ in random.pick(alphabet) }
            _ = JSONValue(canonical: bytes)
        }
        _ = JSONValue(canonical: [UInt8](repeating: UInt8(ascii: "["), count: 100_000))
    }
}
