import KithDocuments
import Testing

@Suite("Names of documents and databases")
struct NamesTests {
    @Test("IDs that are legal come back with the same bytes")
    func legalIDs() throws {
        let legal = [
            "a", "a/b", "a%2Fb", "100%", "a+b", "a b", "#frag", "what?q=1", "../../etc", "..", "-starts-with-dash",
            ".dot", "😄", "中文",
            "quote\"d", "back\\slash", "semi;colon", "a&b=c", ":", "~", "\u{A0}", "é", "e\u{301}", "a\tb", "\u{FFFD}",
            "_design/x",
            String(repeating: "x", count: 240), String(repeating: "é", count: 120),
        ]
        for text in legal {
            let id = try DocumentID(text)
            #expect(Array(id.text.utf8) == Array(text.utf8))
            #expect(try DocumentID(utf8: Array(text.utf8)) == id)
            #expect(try DocumentID(utf8: text.utf8) == id)
            #expect(DocumentID.unchecked(text) == id)
        }
        #expect(Set(try legal.map { try DocumentID($0) }).count == legal.count)
        #expect(try DocumentID("_design/x").isDesignDocument)
        #expect(try !DocumentID("design/x").isDesignDocument)
    }

    @Test("IDs that are not legal are refused")
    func illegalIDs() {
        let illegal = [
            "", "\0", "a\0b", "_unknown", "_all_docs_not", "_", "_design", "_design/", "_local/x", "_local/",
            String(repeating: "x", count: 241), String(repeating: "é", count: 121),
        ]
        for text in illegal {
            expectRefusal(.badName) { try DocumentID(text) }
            expectRefusal(.badName) { try DocumentID(utf8: Array(text.utf8)) }
        }
        for bytes in [[0xFF], [0x61, 0xED, 0xA0, 0x80], [0xC0, 0xAF], [0xF0, 0x9F, 0x98]] as [[UInt8]] {
            expectRefusal(.badName) { try DocumentID(utf8: bytes) }
        }
    }

    @Test("IDs are compared, hashed and ordered as bytes")
    func bytes() throws {
        let composed = try DocumentID("\u{E9}")
        let decomposed = try DocumentID("e\u{301}")
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed]).count == 2)
        #expect(decomposed < composed)
        #expect(try DocumentID("a") < DocumentID("aa"))
        #expect(try DocumentID("B") < DocumentID("a"))
        #expect(try DocumentID("\u{FFFF}") < DocumentID("\u{10000}"))
    }

    @Test("database names follow CouchDB's rule")
    func databaseNames() throws {
        for text in ["a", "clinic", "a_b$c(d)e+f-g/h1", String(repeating: "z", count: 100)] {
            let name = try DatabaseName(text)
            #expect(name.text == text)
            #expect(!name.fileName.utf8.contains(UInt8(ascii: "/")))
            #expect(try DatabaseName(fileName: name.fileName) == name)
        }
        for text in [
            "", "A", "1a", "_users", "a b", "a.b", "é", "a\0", "../x", "a:b", "a%", String(repeating: "z", count: 101),
        ] {
            expectRefusal(.badName) { try DatabaseName(text) }
        }
        expectRefusal(.badName) { try DatabaseName(fileName: "a/b") }
        #expect(try DatabaseName("a/b").fileName != DatabaseName("a_b").fileName)
    }
}
