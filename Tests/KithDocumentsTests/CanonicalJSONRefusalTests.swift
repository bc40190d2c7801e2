import Glibc
import KithDocuments
import Testing

@Suite("What is not kept as JSON")
struct CanonicalJSONRefusalTests {
    private func refusal(_ bytes: [UInt8]) -> KithError? {
        do {
            _ = try CanonicalJSON.canonicalize(bytes)
            return nil
        } catch {
            return error
        }
    }

    static let textsNotJSON = [
        "", " ", "{", "[", "\"", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,", "{\"a\":1,}", "{,}", "{a:1}", "{'a':1}",
        "{1:2}",
        "{\"a\" 1}", "{\"a\":1 \"b\":2}", "[1,]", "[,1]", "[1 2]", "[1}", "{\"a\":1]", "]", "}", "1 2", "{} {}", "{}x",
        "tru", "True",
        "nul", "nulll", "falsey", "undefined", "NaN", "Infinity", "-Infinity", "-", "+1", "01", "-01", "00", ".5", "1.",
        "1.e5", "1e",
        "1e+", "1E-", "0x10", "1_000", "--1", "1.2.3", "1e5.5", "// x\n1", "/* */1", "\"\t\"", "\"\n\"", "\"\u{0}\"",
        #""\x41""#, #""\u12""#, #""\u12G4""#, #""\""#, #""\'""#, "\u{A0}1", "\u{2028}1", "[1]\u{0}",
    ]

    @Test("a text that fits and whose canonical form does not is refused: what is kept must be possible to send on")
    func growsBeyondTheLimit() {
        let numbers = Array(("[" + Array(repeating: "1e15", count: 1_500_000).joined(separator: ",") + "]").utf8)
        #expect(numbers.count < DocumentLimits.documentBytesMax)
        #expect { try CanonicalJSON.canonicalize(numbers) } throws: { ErrorCode.tooLarge ~= $0 }
    }

    @Test("texts that are not JSON", arguments: textsNotJSON)
    func notJSON(text: String) {
        #expect(refusal(Array(text.utf8))?.code == .badDocument)
        #expect(refusal(Array("[\(text),1]".utf8))?.code == .badDocument || text == "" || text.contains("/"))
    }

    @Test("numbers that become infinite are refused, the largest double is kept")
    func infinite() throws {
        for text in [
            "1e400", "-1e400", "[1,{\"x\":1e309}]", "1.7976931348623159e308", "1e99999999999999999999", "0.001e400",
        ] {
            #expect(refusal(Array(text.utf8))?.code == .badDocument)
        }
        #expect(
            try CanonicalJSON.canonicalize(Array("1.7976931348623157e308".utf8))
                == Array("1.7976931348623157e+308".utf8))
        #expect(try CanonicalJSON.canonicalize(Array("0e99999999999999999999".utf8)) == Array("0".utf8))
    }

    @Test("half of a surrogate pair is refused, however it is written")
    func surrogates() {
        let escaped = [
            #""\ud800""#, #""\udc00""#, #""\ude04\ud83d""#, #""\ud83d\u0041""#, #""\ud83d\n""#, #""\ud83dx""#,
            #""\ud83d\ud83d""#,
            #"{"\udfff":1}"#, #""\uDBFF""#,
        ]
        for text in escaped { #expect(refusal(Array(text.utf8))?.code == .badDocument) }
        #expect(refusal([0x22, 0xED, 0xA0, 0x80, 0x22])?.code == .badDocument)
    }

    @Test(
        "broken UTF-8 is refused",
        arguments: [
            [0x80], [0xBF], [0xC0, 0xAF], [0xC1, 0xBF], [0xC2], [0xC2, 0x41], [0xE0, 0x80, 0x80], [0xE0, 0x9F, 0xBF],
            [0xE2, 0x82],
            [0xED, 0xBF, 0xBF], [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x8F, 0xBF, 0xBF], [0xF0, 0x9F, 0x98],
            [0xF4, 0x90, 0x80, 0x80],
            [0xF5, 0x80, 0x80, 0x80], [0xFE], [0xFF],
        ] as [[UInt8]])
    func brokenUTF8(sequence: [UInt8]) {
        for padding in 0..<9 {
            let plain = [UInt8](repeating: 0x61, count: padding)
            #expect(refusal([0x22] + plain + sequence + plain + [0x22])?.code == .badDocument)
            #expect(refusal([0x7B, 0x22] + plain + sequence + [0x22, 0x3A, 0x31, 0x7D])?.code == .badDocument)
        }
        #expect(refusal(sequence)?.code == .badDocument)
    }

    @Test("a byte order mark is refused")
    func byteOrderMark() {
        #expect(refusal([0xEF, 0xBB, 0xBF] + "{}".utf8)?.message.contains("byte order mark") == true)
    }

    @Test("the same key twice is refused, in any order and spelling, at any depth")
    func duplicates() {
        let texts = [
            #"{"a":1,"a":1}"#, #"{"b":1,"a":2,"b":3}"#, #"{"c":1,"b":2,"a":3,"b":4}"#, #"{"a":1,"\u0061":2}"#,
            #"{"x":[{"":1,"":2}]}"#,
            #"{"\u0000":1,"\u0000":2}"#, #"{"é":1,"\u00e9":2}"#,
        ]
        for text in texts {
            #expect(refusal(Array(text.utf8))?.message.contains("the same key twice") == true, "\(text)")
        }
    }

    @Test("errors say at which byte and line, and nothing of the content")
    func places() throws {
        let error = try #require(refusal(Array("{\n \"secret\": \"value\",\n \"other\": 01}".utf8)))
        #expect(error.message.contains("at byte 33, line 3"))
        #expect(!error.description.contains("secret") && !error.description.contains("value"))
        #expect(refusal(Array("[1,1e999]".utf8))?.message.contains("at byte 4, line 1") == true)
    }

    @Test("nesting has one limit; far beyond it nothing is lost but the text, also on a small stack")
    func nesting() throws {
        func nested(_ levels: Int) -> [UInt8] {
            Array((String(repeating: "[", count: levels) + String(repeating: "]", count: levels)).utf8)
        }
        func objects(_ levels: Int) -> [UInt8] {
            Array((String(repeating: "{\"a\":", count: levels) + "1" + String(repeating: "}", count: levels)).utf8)
        }
        let limit = DocumentLimits.nestingLevelsMax
        #expect(limit >= 120)
        #expect(try CanonicalJSON.canonicalize(nested(limit)) == nested(limit))
        #expect(try CanonicalJSON.canonicalizeBody(objects(limit)) == objects(limit))
        #expect(refusal(nested(limit + 1))?.code == .badDocument)
        #expect(refusal(objects(limit + 1))?.code == .badDocument)
        #expect(refusal([UInt8](repeating: UInt8(ascii: "["), count: 1_000_000))?.code == .badDocument)

        let deep = objects(20_000)
        let fits = objects(limit)
        try onStack(bytes: 128 * 1024) {
            #expect((try? CanonicalJSON.canonicalizeBody(deep)) == nil)
            #expect((try? CanonicalJSON.canonicalizeBody(fits)) == fits)
        }
        try onStack(bytes: 512 * 1024) {
            #expect((try? JSONValue(parsing: deep)) == nil)
            #expect((try? JSONValue(parsing: fits))?.canonicalBytes() == fits)
        }
    }

    @Test("the limit of size")
    func size() {
        let blanks = [UInt8](repeating: 0x20, count: DocumentLimits.documentBytesMax)
        #expect(refusal(blanks)?.code == .badDocument)
        #expect(refusal(blanks + [0x31])?.code == .tooLarge)
        #expect((try? JSONValue(parsing: Array("[1,2]".utf8), bytesMax: 4)) == nil)
        #expect((try? JSONValue(parsing: Array("[1,2]".utf8), bytesMax: 5)) == [1, 2])
    }

    private func onStack(bytes: Int, _ body: @escaping @Sendable () -> Void) throws {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        try #require(pthread_attr_setstacksize(&attributes, bytes) == 0)
        var thread = pthread_t()
        let box = Unmanaged.passRetained(SmallStackBody(run: body))
        let status = pthread_create(&thread, &attributes, runSmallStackBody, box.toOpaque())
        if status != 0 { box.release() }
        try #require(status == 0)
        pthread_join(thread, nil)
    }
}

private final class SmallStackBody: Sendable {
    let run: @Sendable () -> Void

    init(run: @escaping @Sendable () -> Void) {
        self.run = run
    }
}

/// Takes the reference that the thread's maker retained.
private func runSmallStackBody(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let argument { Unmanaged<SmallStackBody>.fromOpaque(argument).takeRetainedValue().run() }
    return nil
}
