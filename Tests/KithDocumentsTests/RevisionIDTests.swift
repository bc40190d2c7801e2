import KithDocuments
import Testing

@Suite("Revision IDs")
struct RevisionIDTests {
    static let legalTexts = [
        "1-a", "1-aa", "2-9f2c01b7", "10-00000000000000000000000000000000",
        "4294967295-ffffffffffffffffffffffffffffffffffffffff",
        "3-ABCDEF", "3-abcdeF", "1-abc", "7-x-y.z_~+/=", "2-faded000123456789abcdef0",
        "1-" + String(repeating: "ab", count: 20) + "c",
        "1-" + String(repeating: "ab", count: 21), "1-" + String(repeating: "e", count: 82),
        "5-" + String(repeating: "Z", count: 21), "1--",
    ]

    @Test("IDs made anywhere are kept exactly as they came", arguments: legalTexts)
    func legal(text: String) throws {
        let revision = try RevisionID(parsing: text)
        #expect(revision.description == text)
        #expect(revision.bytes == Array(text.utf8))
        #expect(String(revision.generation) + "-" + revision.digest == text)
        #expect(try RevisionID(generation: revision.generation, digest: revision.digest) == revision)
        #expect(try RevisionID(parsing: Array(text.utf8)) == revision)
    }

    @Test(
        "text that is no revision ID is refused",
        arguments: [
            "", "-", "1", "1-", "0-a", "00-a", "01-a", "-1-a", "+1-a", " 1-a", "1 -a", "1- a", "1-a ", "foo", "a-1",
            "1_a", "4294967296-a",
            "18446744073709551616-a", "99999999999999999999999999-a", "1-a,b", "1-a\0", "1-é", "1-a\"", "1-a@b", "12@x",
            "1.5-a", "0x1-a",
            "1-" + String(repeating: "a", count: 83),
        ])
    func illegal(text: String) {
        expectRefusal(.badName) { try RevisionID(parsing: text) }
        expectRefusal(.badName) { try RevisionID(parsing: Array(text.utf8)) }
    }

    @Test("a revision ID cut anywhere is another one or none")
    func cut() throws {
        let text = Array("123-0123456789abcdef0123456789abcdef01234567".utf8)
        for end in 0..<text.count {
            let revision = try? RevisionID(parsing: Array(text[..<end]))
            #expect((revision != nil) == (end > 4))
            #expect(revision?.bytes == (end > 4 ? Array(text[..<end]) : nil))
        }
    }

    @Test("revisions made here have 40 hex digits of the hash")
    func made() throws {
        let hash = (0..<32).map { UInt8($0 * 8) }
        let revision = try RevisionID(generation: 7, hash: hash)
        #expect(revision.description == "7-0008101820283038404850586068707880889098")
        expectRefusal(.badName) { try RevisionID(generation: 0, hash: hash) }
        expectRefusal(.badName) { try RevisionID(generation: 1 << 32, hash: hash) }
        expectRefusal(.badName) { try RevisionID(generation: 1, hash: hash.prefix(19)) }
    }

    @Test("the order is generation as a number, then lower-case digest bytes, and no two tie")
    func order() throws {
        let rising = [
            "1-ff", "2-00", "9-99999999999999999999999999999999", "10-00000000000000000000000000000000", "10-0a",
            "10-0a00", "10-A", "10-a",
            "10-AA", "10-Aa", "10-aA", "10-aa", "10-aa0", "10-aa00", "10-ab", "10-g",
            "10-" + String(repeating: "g", count: 30), "11-0",
        ]
        let revisions = try rising.map { try RevisionID(parsing: $0) }
        for (index, left) in revisions.enumerated() {
            for (other, right) in revisions.enumerated() {
                #expect((left < right) == (index < other), "\(left) < \(right)")
                #expect((left == right) == (index == other))
            }
        }
        #expect(Set(revisions).count == revisions.count)
    }

    @Test("random digests sort as their lower-case texts do")
    func randomOrder() throws {
        var random = SeededGenerator(seed: 4)
        let alphabet = Array("0123456789abcdef")
        func digest() -> String {
            String((0..<Int.random(in: 1...44, using: &random)).map { _ in random.pick(Array(alphabet.prefix(3))) })
        }
        for _ in 0..<5_000 {
            let left = digest()
            let right = digest()
            let order = try RevisionID(generation: 1, digest: left) < RevisionID(generation: 1, digest: right)
            #expect(order == left.utf8.lexicographicallyPrecedes(right.utf8))
        }
    }

    @Test("what is hashed differs whenever anything differs")
    func digestInput() throws {
        let parents = [
            nil, try RevisionID(parsing: "1-aa"), try RevisionID(parsing: "1-aa0"), try RevisionID(parsing: "2-aa"),
        ]
        let bodies = [
            "{}", "{\"alpha\":1}", "{\"beta\":1}", "{\"alpha\":\"1\"}", "{\"alpha\":true}", "{\"alpha\":[1]}",
            "{\"alpha\":{\"\":1}}",
        ]
        var inputs: Set<[UInt8]> = []
        for parent in parents {
            for deleted in [false, true] {
                for body in bodies {
                    inputs.insert(
                        RevisionDigest.input(parent: parent, deleted: deleted, canonicalBody: Array(body.utf8)))
                }
            }
        }
        #expect(inputs.count == parents.count * 2 * bodies.count)
        let fixed = RevisionDigest.input(parent: parents[1], deleted: true, canonicalBody: Array("{}".utf8))
        #expect(fixed == [4] + Array("1-aa".utf8) + [1] + Array("{}".utf8))
        #expect(RevisionDigest.prefix(parent: nil, deleted: false) == [0, 0])
    }
}
