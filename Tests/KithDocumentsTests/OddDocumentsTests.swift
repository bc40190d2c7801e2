import KithDocuments
import Testing

@Suite("Documents that are easily damaged on their way")
struct OddDocumentsTests {
    /// A document as somebody wrote it, and what must be kept of it.
    static let documents: [(name: String, written: String, kept: String)] = [
        (
            "integers beyond 2^53 and beyond 64 bits",
            """
            {
              "p53": 9007199254740992, "p53plus1": 9007199254740993,
              "i64max": 9223372036854775807, "i64min": -9223372036854775808, "u64max": 18446744073709551615,
              "past64": 36893488147419103233, "negative past64": -36893488147419103233,
              "nested": [ { "counter": 1234567890123456789 } ]
            }
            """,
            #"{"i64max":9223372036854775807,"i64min":-9223372036854775808,"negative past64":-36893488147419103233,"#
                + #""nested":[{"counter":1234567890123456789}],"p53":9007199254740992,"p53plus1":9007199254740993,"#
                + #""past64":36893488147419103233,"u64max":18446744073709551615}"#
        ),
        (
            "doubles of all sizes",
            """
            {"third":0.3333333333333333,"tenth":0.1,"fraction":27874302100000.5,"max":1.7976931348623157e308,
             "smallest":5e-324,"one and a bit":1.0000000000000002,"to nothing":1e-400}
            """,
            #"{"fraction":27874302100000.5,"max":1.7976931348623157e+308,"one and a bit":1.0000000000000002,"#
                + #""smallest":5e-324,"tenth":0.1,"third":0.3333333333333333,"to nothing":0}"#
        ),
        (
            "letters outside the first plane, noncharacters, separators, a mark inside",
            #"{"raw":"😄","escaped":"\ud83d\ude04","noncharacter":"\uffff","lines":"a\u2028b\u2029c","#
                + #""top":"\udbff\udfff","mark":"\ufeffx"}"#,
            "{\"escaped\":\"😄\",\"lines\":\"a\u{2028}b\u{2029}c\",\"mark\":\"\u{FEFF}x\",\"noncharacter\":\"\u{FFFF}\","
                + "\"raw\":\"😄\",\"top\":\"\u{10FFFF}\"}"
        ),
        (
            "NUL in values, lists and keys, beside the key that is cut at it",
            #"{"v":"left\u0000right","only":"\u0000","k\u0000ey":"long","k":"short","list":["\u0000a","b\u0000","c"]}"#,
            #"{"k":"short","k\u0000ey":"long","list":["\u0000a","b\u0000","c"],"only":"\u0000","v":"left\u0000right"}"#
        ),
        (
            "odd names",
            #"{"":"empty","$type":"dollar","a.b":"dotted","a":{"b":"nested","":{"":1},"_inner":"below the top"},"#
                + #""x[0]":"bracket","with space":1,"line\u2028separator":2,"constructor":"text","toString":5,"#
                + #""deeper":{"__proto__":{"polluted":true}}}"#,
            #"{"":"empty","$type":"dollar","a":{"":{"":1},"_inner":"below the top","b":"nested"},"a.b":"dotted","#
                + #""constructor":"text","deeper":{"__proto__":{"polluted":true}},"#
                + "\"line\u{2028}separator\":2,\"toString\":5,\"with space\":1,\"x[0]\":\"bracket\"}"
        ),
    ]

    @Test("every path keeps the same", arguments: documents.indices)
    func kept(index: Int) throws {
        let document = Self.documents[index]
        let kept = Array(document.kept.utf8)
        func check(_ written: [UInt8]) throws {
            #expect(try CanonicalJSON.canonicalize(written) == kept)
            #expect(try CanonicalJSON.canonicalizeBody(written) == kept)
            #expect(try CanonicalJSON.split(written).body == kept)
            #expect(try JSONValue(parsing: written).canonicalBytes() == kept)
            let merged = try ThreeWayMerge.merge(
                base: nil, winner: Array("{}".utf8), loser: CanonicalJSON.canonicalizeBody(written))
            #expect(merged == kept)
        }
        try check(Array(document.written.utf8))
        try check(kept)
        try check(Array(JSONValue(canonical: kept).prettyText().utf8))
    }

    @Test(
        "what cannot be kept is refused on every path",
        arguments: [
            #"{"v":1e400}"#, #"{"v":-1e400}"#, #"{"v":[1,{"x":1e309}]}"#, #"{"v":NaN}"#, #"{"v":Infinity}"#,
            #"{"v":01}"#, #"{"s":"\ud800"}"#, #"{"s":"\ude04\ud83d"}"#, #"{"\ud800":1}"#, "\u{FEFF}{\"s\":\"x\"}",
            #"{"__proto__":{"polluted":true}}"#,
        ])
    func refused(text: String) {
        let bytes = Array(text.utf8)
        expectRefusal(.badDocument) { try CanonicalJSON.canonicalizeBody(bytes) }
        expectRefusal(.badDocument) { try CanonicalJSON.split(bytes) }
    }

    @Test(
        "broken UTF-8 in a document is refused on every path",
        arguments: [
            [0xED, 0xA0, 0x80], [0xC0, 0xAF], [0xF0, 0x9F, 0x98], [0xF4, 0x90, 0x80, 0x80],
        ] as [[UInt8]])
    func brokenUTF8(sequence: [UInt8]) {
        let bytes = Array("{\"s\":\"".utf8) + sequence + Array("\"}".utf8)
        expectRefusal(.badDocument) { try CanonicalJSON.canonicalizeBody(bytes) }
        expectRefusal(.badDocument) { try CanonicalJSON.split(bytes) }
    }

    @Test("doubles of any bit pattern come back bit for bit, zero without its sign")
    func doubles() throws {
        var random = SeededGenerator(seed: 11)
        for round in 0..<20_000 {
            var bits = random.next()
            // Every fourth is subnormal, every fourth near 1, where digits are many.
            if round % 4 == 0 {
                bits &= ~(0x7FF << 52)
            } else if round % 4 == 1 {
                bits = bits & ~(0x7F0 << 52) | 0x3F0 << 52
            }
            let double = Double(bitPattern: bits)
            guard double.isFinite else { continue }
            let text = JSONValue.double(double).canonicalBytes()
            let value = JSONValue(canonical: text)
            #expect(value.doubleValue?.bitPattern == (double == 0 ? 0 : bits), "\(double)")
            #expect(value.canonicalBytes() == text)
        }
        #expect(JSONValue.double(-0.0).canonicalBytes() == Array("0".utf8))
    }
}
