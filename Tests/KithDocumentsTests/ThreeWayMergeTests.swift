import KithDocuments
import Testing

@Suite("Merging branches of a document")
struct ThreeWayMergeTests {
    private func merge(_ base: String?, _ winner: String, _ loser: String) throws -> String {
        func canonical(_ text: String) throws -> [UInt8] { try CanonicalJSON.canonicalize(Array(text.utf8)) }
        let merged = try ThreeWayMerge.merge(
            base: base.map { try canonical($0) }, winner: canonical(winner), loser: canonical(loser))
        return String(decoding: merged, as: UTF8.self)
    }

    /// Base, winner, loser, and what comes of them.
    static let cases: [(base: String?, winner: String, loser: String, merged: String)] = [
        // Changes of different fields are all kept, also new and removed ones.
        (
            #"{"a":1,"b":1,"c":1}"#, #"{"a":2,"b":1,"c":1,"w":0}"#, #"{"a":1,"b":2,"l":0}"#,
            #"{"a":2,"b":2,"l":0,"w":0}"#
        ),
        // The same change, the same removal, the same new field.
        (#"{"a":1,"b":1}"#, #"{"a":2,"n":[1]}"#, #"{"a":2,"n":[1]}"#, #"{"a":2,"n":[1]}"#),
        (#"{"a":1,"b":1,"c":3}"#, #"{"b":1}"#, #"{"b":2}"#, #"{"b":2}"#),
        // A clash: the winner's.
        (#"{"a":1}"#, #"{"a":2}"#, #"{"a":3}"#, #"{"a":2}"#),
        (#"{"a":1}"#, #"{"a":null}"#, #"{"a":3}"#, #"{"a":null}"#),
        (nil, #"{"a":2,"w":1}"#, #"{"a":3,"l":1}"#, #"{"a":2,"l":1,"w":1}"#),
        // Arrays clash as a whole, types too.
        (#"{"a":[1]}"#, #"{"a":[1,2]}"#, #"{"a":[1,3]}"#, #"{"a":[1,2]}"#),
        (#"{"a":[1]}"#, #"{"a":[1]}"#, #"{"a":[1,3]}"#, #"{"a":[1,3]}"#),
        (#"{"a":{"x":1}}"#, #"{"a":{"x":2}}"#, #"{"a":[{"x":1}]}"#, #"{"a":{"x":2}}"#),
        (#"{"a":{"x":1}}"#, #"{"a":"x"}"#, #"{"a":{"x":2}}"#, #"{"a":"x"}"#),
        // A change beats a removal, on either side; an unchanged field does not.
        (#"{"a":1}"#, #"{}"#, #"{"a":2}"#, #"{"a":2}"#),
        (#"{"a":1}"#, #"{"a":2}"#, #"{}"#, #"{"a":2}"#),
        (#"{"a":1}"#, #"{}"#, #"{"a":1}"#, #"{}"#),
        (#"{"a":{"x":1,"y":1}}"#, #"{}"#, #"{"a":{"x":1,"y":2}}"#, #"{"a":{"x":1,"y":2}}"#),
        // Objects are merged field by field, however deep; without a base, or over a base of another type, as new ones.
        (
            #"{"o":{"p":{"x":1,"y":1},"q":1}}"#, #"{"o":{"p":{"x":2,"y":1},"q":1}}"#,
            #"{"o":{"p":{"x":1,"y":3},"r":1}}"#, #"{"o":{"p":{"x":2,"y":3},"r":1}}"#
        ),
        (#"{}"#, #"{"o":{"x":1,"z":1}}"#, #"{"o":{"x":2,"y":2}}"#, #"{"o":{"x":1,"y":2,"z":1}}"#),
        (#"{"o":7}"#, #"{"o":{"x":1}}"#, #"{"o":{"y":2}}"#, #"{"o":{"x":1,"y":2}}"#),
        (#"{"o":{"x":1}}"#, #"{"o":{}}"#, #"{"o":{"x":1,"y":2}}"#, #"{"o":{"y":2}}"#),
        // One number in two spellings is one value; text is compared as bytes.
        (#"{"a":1,"b":1}"#, #"{"a":1.0,"b":2}"#, #"{"a":5,"b":1e0}"#, #"{"a":5,"b":2}"#),
        ("{\"a\":\"\u{E9}\"}", "{\"a\":\"e\u{301}\"}", "{\"a\":\"\u{E9}\"}", "{\"a\":\"e\u{301}\"}"),
        ("{}", "{\"\u{E9}\":1}", "{\"e\u{301}\":2}", "{\"e\u{301}\":2,\"\u{E9}\":1}"),
        // Odd keys: empty, with a quote, a comma, a bracket or NUL in them.
        (
            #"{"":1,"\"":1,"a\u0000":1}"#, #"{"":2,"\"":1,"a\u0000":1,"a":[",}"]}"#,
            #"{"":1,"\"":{"}":"]"},"a\u0000":3}"#, #"{"":2,"\"":{"}":"]"},"a":[",}"],"a\u0000":3}"#
        ),
        // The outermost object takes part like any other.
        (#"{"a":1}"#, #"{}"#, #"{}"#, #"{}"#), (nil, #"{}"#, #"{"a":1}"#, #"{"a":1}"#),
    ]

    @Test("what is kept of two changes", arguments: cases.indices)
    func known(index: Int) throws {
        let (base, winner, loser, merged) = Self.cases[index]
        #expect(try merge(base, winner, loser) == merged)
    }

    @Test("random documents: as the rules applied to trees say, and what must hold of every merge", arguments: 0..<60)
    func random(seed: UInt64) throws {
        var maker = EditedDocumentMaker(random: SeededGenerator(seed: seed))
        for _ in 0..<50 {
            let base = maker.document()
            let winner = maker.edited(base)
            let loser = maker.edited(base)
            func merge(_ base: JSONValue?, _ winner: JSONValue, _ loser: JSONValue) throws -> JSONValue {
                let merged = try ThreeWayMerge.merge(
                    base: base?.canonicalBytes(), winner: winner.canonicalBytes(), loser: loser.canonicalBytes())
                #expect(try CanonicalJSON.canonicalize(merged) == merged, "seed \(seed)")
                return JSONValue(canonical: merged)
            }
            let merged = try merge(base, winner, loser)
            #expect(merged == Self.byTheRules(base, winner, loser), "seed \(seed)")
            #expect(try merge(nil, winner, loser) == Self.byTheRules(nil, winner, loser), "seed \(seed)")
            // One side alone.
            #expect(try merge(base, winner, base) == winner, "seed \(seed)")
            #expect(try merge(base, base, loser) == loser, "seed \(seed)")
            #expect(try merge(base, winner, winner) == winner, "seed \(seed)")
            // Merged once more with what is in it already: nothing new.
            #expect(try merge(base, merged, winner) == merged, "seed \(seed)")
            #expect(try merge(base, merged, loser) == merged, "seed \(seed)")
            #expect(try merge(base, winner, merged) == merged, "seed \(seed)")
        }
    }

    /// The rules on trees, in the simplest way there is.
    private static func byTheRules(_ base: JSONValue?, _ winner: JSONValue?, _ loser: JSONValue?) -> JSONValue? {
        if winner == loser || base == loser { return winner }
        if base == winner { return loser }
        guard let winner else { return loser }
        guard let loser else { return winner }
        guard let ours = winner.objectValue, let theirs = loser.objectValue else { return winner }
        var result = JSONObject()
        for name in ours.names + theirs.names { result[name] = byTheRules(base?[name], ours[name], theirs[name]) }
        return .object(result)
    }

    @Test("changes of fields that the other side did not touch are all kept", arguments: 0..<20)
    func oneSided(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let names = (0..<40).map { "field\($0)" }.shuffled(using: &random)
        var base: JSONValue = [:]
        for name in names { base[name] = ["v": 0, "same": true] }
        var winner = base
        var loser = base
        var expected = base
        for (index, name) in names.enumerated() {
            let value: JSONValue? = random.chance(4) ? nil : JSONValue(random.next())
            if index % 3 == 0 { winner[name] = value } else if index % 3 == 1 { loser[name] = value }
            if index % 3 < 2 { expected[name] = value }
        }
        for (first, second) in [(winner, loser), (loser, winner)] {
            let merged = try ThreeWayMerge.merge(
                base: base.canonicalBytes(), winner: first.canonicalBytes(), loser: second.canonicalBytes())
            #expect(merged == expected.canonicalBytes())
        }
    }

    @Test("a result that is too large is refused, one at the limit is not")
    func size() throws {
        let half = DocumentLimits.documentBytesMax / 2
        func body(_ name: String, _ count: Int) -> [UInt8] {
            Array("{\"\(name)\":\"".utf8) + [UInt8](repeating: 0x78, count: count) + Array("\"}".utf8)
        }
        // Each body is 8 bytes and its text; together one pair of brackets goes and a comma comes.
        let fits = try ThreeWayMerge.merge(base: nil, winner: body("a", half), loser: body("b", half - 15))
        #expect(fits.count == DocumentLimits.documentBytesMax)
        expectRefusal(.tooLarge) {
            try ThreeWayMerge.merge(base: nil, winner: body("a", half), loser: body("b", half - 14))
        }
    }

    @Test("bodies that are no objects, or cut, are refused and never trap")
    func noObjects() throws {
        let good = Array(#"{"a\u0000":{"b":[1,"}"]},"c":null}"#.utf8)
        for text in ["", "[]", "1", "null", "\"x\"", "{}x", "{\"a\"}", "{\"a\":}", "{\"a\":1}}", #"{"\ud800":1}"#] {
            expectRefusal(.badDocument) { try ThreeWayMerge.merge(base: nil, winner: good, loser: Array(text.utf8)) }
            expectRefusal(.badDocument) { try ThreeWayMerge.merge(base: nil, winner: Array(text.utf8), loser: good) }
            #expect(try ThreeWayMerge.merge(base: Array(text.utf8), winner: good, loser: Array("{}".utf8)) == good)
        }
        for end in 0..<good.count {
            expectRefusal(.badDocument) {
                try ThreeWayMerge.merge(base: good, winner: [0x7B, 0x7D], loser: Array(good[..<end]))
            }
        }
        var random = SeededGenerator(seed: 5)
        for _ in 0..<20_000 {
            var bytes = good
            for _ in 0...2 {
                bytes[Int.random(in: 0..<good.count, using: &random)] = random.pick(Array("{}[]\",:\\u01a".utf8))
            }
            _ = try? ThreeWayMerge.merge(base: bytes, winner: good, loser: bytes)
        }
    }

    @Test("as deep as documents may be")
    func deep() throws {
        func nested(_ inner: String) -> [UInt8] {
            let levels = DocumentLimits.nestingLevelsMax - 1
            return Array(
                (String(repeating: "{\"a\":", count: levels) + inner + String(repeating: "}", count: levels)).utf8)
        }
        let merged = try ThreeWayMerge.merge(
            base: nested("{}"), winner: nested(#"{"x":1}"#), loser: nested(#"{"y":2}"#))
        #expect(merged == nested(#"{"x":1,"y":2}"#))
    }

    @Test("what a side has from something else that both share gives way to an edit, and counts as a change otherwise")
    func origins() throws {
        func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
        let merged = try ThreeWayMerge.merge(
            base: bytes(#"{"in":{"a":3},"removed":3,"removed2":3,"x":3,"y":3,"z":3}"#),
            winner: bytes(#"{"in":{"a":1},"removed2":3,"x":1,"y":1,"z":1}"#),
            loser: bytes(#"{"in":{"a":9},"removed":1,"removed2":3,"x":15,"y":3,"z":2}"#),
            origins: ThreeWayMerge.Origins(
                winner: [bytes(#"{"in":{"a":1},"removed":1,"x":1,"y":1,"z":1}"#)],
                loser: [bytes(#"{"removed":1}"#), bytes(#"{"z":2}"#)]))
        #expect(merged.hasClash)
        #expect(String(decoding: merged.body, as: UTF8.self) == #"{"in":{"a":9},"removed2":3,"x":15,"y":1,"z":1}"#)
        // Without a clash nothing needs to be known of them.
        let plain = try ThreeWayMerge.merge(
            base: bytes(#"{"x":1}"#), winner: bytes(#"{"x":2}"#), loser: bytes(#"{"x":1,"y":1}"#),
            origins: ThreeWayMerge.Origins(winner: [], loser: []))
        #expect(!plain.hasClash)
    }
}
