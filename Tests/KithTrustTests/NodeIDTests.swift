import KithDocuments
import Testing

@testable import KithTrust

@Suite("Node IDs")
struct NodeIDTests {
    /// Hashes with different bits: all zero, all one, counting, and some from a simple generator.
    static let hashes: [[UInt8]] = {
        var all: [[UInt8]] = [
            [UInt8](repeating: 0, count: 32), [UInt8](repeating: 255, count: 32), (0..<32).map { UInt8($0 * 8) },
        ]
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15
        for _ in 0..<4 {
            all.append(
                (0..<32).map { _ in
                    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                    return UInt8(state >> 56)
                })
        }
        return all
    }()

    @Test("an ID reads back from its own text", arguments: hashes)
    func roundTrip(hash: [UInt8]) throws {
        let id = NodeID(subjectPublicKeyHash: hash)
        #expect(id.subjectPublicKeyHash == hash)
        #expect(id.description.utf8.count == 56 + 13)
        #expect(id.description.split(separator: "-").count == 14)
        #expect(try NodeID(parsing: id.description) == id)
        #expect(id.short == String(id.description.prefix(9)))
        #expect(id.compactShort == id.short.filter { $0 != "-" })
    }

    @Test("the text of a known hash stays what it is")
    func knownText() {
        let id = NodeID(subjectPublicKeyHash: (0..<32).map { UInt8($0) })
        #expect(id.description == "000G-40R4-0M30-EX20-9185-GR38-E1WK-8124-GK2G-AHC5-RHR3-4D1P-70X3-RFG4")
    }

    @Test("lower case, spaces, no dashes, O for 0, and I or L for 1 read as the same ID", arguments: hashes)
    func forgiving(hash: [UInt8]) throws {
        let id = NodeID(subjectPublicKeyHash: hash)
        let text = id.description
        let variants = [
            text.lowercased(), text.filter { $0 != "-" }, String(text.map { $0 == "-" ? " " : $0 }), "  \(text)\r\n",
            String(text.map { $0 == "0" ? "O" : $0 == "1" ? "I" : $0 }),
            String(text.map { $0 == "0" ? "o" : $0 == "1" ? "l" : $0 }),
            String(text.flatMap { [$0, "-"] }),
        ]
        for variant in variants {
            #expect(try NodeID(parsing: variant) == id)
        }
    }

    @Test("every single wrong character is noticed, and the error names its block", arguments: hashes)
    func everySubstitution(hash: [UInt8]) {
        let text = Array(NodeID(subjectPublicKeyHash: hash).description.utf8.filter { $0 != UInt8(ascii: "-") })
        for position in text.indices {
            for other in CheckedBase32.alphabet where other != text[position] {
                var wrong = text
                wrong[position] = other
                let error = #expect(throws: KithError.self) { try NodeID(parsingUTF8: wrong) }
                #expect(error?.code == .badNodeID)
                #expect(error?.message.contains("block \(position / 14 + 1) of 4") == true)
                #expect(error?.remedy?.contains("kith id") == true)
            }
        }
    }

    @Test("every exchange of two characters of a block is noticed", arguments: hashes)
    func everySwap(hash: [UInt8]) {
        let text = Array(NodeID(subjectPublicKeyHash: hash).description.utf8.filter { $0 != UInt8(ascii: "-") })
        for block in 0..<4 {
            for a in block * 14..<block * 14 + 14 {
                for b in a + 1..<block * 14 + 14 where text[a] != text[b] {
                    var wrong = text
                    wrong.swapAt(a, b)
                    #expect(throws: KithError.self) { try NodeID(parsingUTF8: wrong) }
                }
            }
        }
    }

    @Test("a neighbour exchanged across two blocks is noticed", arguments: hashes)
    func swapAcrossBlocks(hash: [UInt8]) {
        let text = Array(NodeID(subjectPublicKeyHash: hash).description.utf8.filter { $0 != UInt8(ascii: "-") })
        for a in [13, 27, 41] where text[a] != text[a + 1] {
            var wrong = text
            wrong.swapAt(a, a + 1)
            #expect(throws: KithError.self) { try NodeID(parsingUTF8: wrong) }
        }
    }

    @Test("too short, too long, empty and foreign texts are refused with the reason")
    func malformed() {
        let text = NodeID(subjectPublicKeyHash: NodeIDTests.hashes[2]).description
        for (wrong, expected) in [
            ("", "empty"), (" - ", "empty"), (String(text.dropLast()), "1 missing"), (text + "0", "1 too many"),
            (String(text.prefix(9)), "48 missing"), (text.replacing("-", with: "–"), "foreign character"),
            (String(text.dropLast()) + "é", "block 4"), (String(text.dropLast()) + "U", "'U' in block 4"),
            ("\u{0}" + text, "foreign character"), ("!" + text, "'!' in block 1"),
            (String(repeating: text, count: 100), "far longer"), (String(repeating: " ", count: 600), "far longer"),
            (String(repeating: "0", count: 200), "144 too many"),
        ] {
            let error = #expect(throws: KithError.self, "\(wrong)") { try NodeID(parsing: wrong) }
            #expect(error?.code == .badNodeID)
            #expect(error?.message.contains(expected) == true, "\(error?.message ?? "")")
        }
        for count in 0..<text.utf8.count {
            #expect(throws: KithError.self) { try NodeID(parsing: String(text.prefix(count))) }
        }
    }

    @Test("the bits past the hash must be zero, so that an ID has one text only")
    func padding() {
        // The last data character of an all-zero hash with a padding bit set, and a check character that fits it.
        for padding in UInt8(1)...15 {
            let data = [UInt8](repeating: 0, count: 12) + [padding]
            let block = data + [CheckedBase32.check(of: data)]
            let text =
                [UInt8](repeating: UInt8(ascii: "0"), count: 42) + block.map { CheckedBase32.alphabet[Int($0)] }
            let error = #expect(throws: KithError.self) { try NodeID(parsingUTF8: text) }
            #expect(error?.message.contains("block 4") == true)
        }
    }

    @Test("IDs order by the bytes of the hash")
    func order() {
        for a in NodeIDTests.hashes {
            for b in NodeIDTests.hashes {
                #expect(
                    (NodeID(subjectPublicKeyHash: a) < NodeID(subjectPublicKeyHash: b))
                        == a.lexicographicallyPrecedes(b))
            }
        }
    }

}
