import KithDocuments
import KithStore
import Testing

@Suite("Documents")
struct DocumentTests {
    let database: Database

    init() throws {
        database = try memoryDatabase()
    }

    private func put(
        _ name: String, _ body: String, parent: RevisionID? = nil, deleted: Bool = false
    ) throws -> RevisionID {
        let id = try id(name)
        return try database.writeBlocking {
            try $0.put(id, body: bytes(body), parent: parent, isDeleted: deleted).revision
        }
    }

    private func read(_ name: String, _ revision: RevisionID? = nil) throws -> StoredDocument? {
        let id = try id(name)
        return try database.read { try $0.document(id, revision: revision) }
    }

    @Test("what is put is read back in canonical form")
    func putAndRead() throws {
        let first = try put("a", #" { "y": 2, "x" : 1.0 } "#)
        #expect(first.generation == 1)
        let document = try #require(try read("a"))
        #expect(text(document.body) == #"{"x":1,"y":2}"#)
        #expect(document.revision == first)
        #expect(document.sequence == 1)
        #expect(!document.isDeleted)
        #expect(document.leaves == [Leaf(revision: first, isDeleted: false)])
        #expect(try read("b") == nil)
        #expect(try database.findFaults().isEmpty)
    }

    @Test("an update follows its parent, and the old body is gone")
    func update() throws {
        let first = try put("a", #"{"n":1}"#)
        let second = try put("a", #"{"n":2}"#, parent: first)
        #expect(second.generation == 2)
        #expect(try text(#require(try read("a")).body) == #"{"n":2}"#)
        #expect(try read("a", first) == nil)
        #expect(try read("a", second)?.revision == second)
        #expect(try database.read { try $0.history(id("a"), second) } == [first])
        #expect(try database.read { try $0.documentCount } == 1)
        #expect(try database.findFaults().isEmpty)
    }

    @Test("a revision ID comes from content and parent alone")
    func contentAddressed() throws {
        let one = try put("a", #"{"x":1,"y":2}"#)
        #expect(try put("b", #"{"y":2,"x":1}"#) == one)
        var seen: Set<RevisionID> = []
        let bodies = [
            #"{"alpha":1}"#, #"{"beta":1}"#, #"{"alpha":"1"}"#, #"{"alpha":true}"#, #"{"alpha":[1]}"#,
            #"{"alpha":{"":1}}"#,
        ]
        for (index, body) in bodies.enumerated() { seen.insert(try put("c\(index)", body)) }
        #expect(seen.count == bodies.count)
        // Deleted and made anew it is another revision, and the same one wherever that is done.
        for name in ["a", "b"] { _ = try put(name, "{}", parent: one, deleted: true) }
        let again = try put("a", #"{"x":1,"y":2}"#)
        #expect(again != one)
        #expect(again.generation == 3)
        #expect(try put("b", #"{"x":1,"y":2}"#) == again)
    }

    @Test("a stale, unknown or missing parent is refused and nothing is written")
    func conflict() throws {
        let first = try put("a", #"{"n":1}"#)
        let second = try put("a", #"{"n":2}"#, parent: first)
        let sequence = try database.read { try $0.lastSequence }
        #expect(code { _ = try put("a", #"{"n":3}"#, parent: first) } == .conflict)
        #expect(code { _ = try put("a", #"{"n":3}"#) } == .conflict)
        #expect(code { _ = try put("a", #"{"n":3}"#, parent: revision("2-abc")) } == .conflict)
        #expect(code { _ = try put("b", #"{"n":3}"#, parent: first) } == .conflict)
        // The same edit once more: its parent is no longer the latest.
        #expect(code { _ = try put("a", #"{"n":2}"#, parent: first) } == .conflict)
        #expect(try read("a")?.revision == second)
        #expect(try read("b") == nil)
        #expect(try database.read { try $0.lastSequence } == sequence)
    }

    @Test("an edit that came from another node without its history is known, and its parent ceases to be a leaf")
    func knownEdit() throws {
        let first = try put("a", #"{"n":1}"#)
        let name = try id("a")
        // What the same edit is called, as the other node calls it.
        let second = try put("b", #"{"n":2}"#, parent: put("b", #"{"n":1}"#))
        let incoming = IncomingRevision(id: name, revision: second, body: bytes(#"{"n":2}"#))
        _ = try database.writeBlocking { try $0.insert(incoming) }
        #expect(try read("a")?.leaves.count == 2)
        let sequence = try database.read { try $0.lastSequence }
        #expect(try put("a", #"{"n":2}"#, parent: first) == second)
        #expect(try read("a")?.leaves == [Leaf(revision: second, isDeleted: false)])
        #expect(try database.read { try $0.history(name, second) } == [first])
        #expect(try database.read { try $0.lastSequence } == sequence + 1)
        #expect(try database.read { try $0.conflictCount } == 0)
        #expect(try database.findFaults().isEmpty)
    }

    @Test("a refusal names document and current revision, and no content")
    func conflictMessage() throws {
        let first = try put("a", #"{"secret":"mellon"}"#)
        do {
            _ = try put("a", #"{"secret":"friend"}"#)
            Issue.record("not refused")
        } catch {
            let message = "\(error)"
            #expect(message.contains("a ") && message.contains(first.description))
            #expect(!message.contains("mellon") && !message.contains("friend"))
        }
    }

    @Test("deleting leaves a tombstone with an empty body; a new document continues its generations")
    func deleteAndResurrect() throws {
        let first = try put("a", #"{"n":1}"#)
        let name = try id("a")
        let tombstone = try database.writeBlocking { try $0.delete(name, parent: first).revision }
        #expect(tombstone.generation == 2)
        let deleted = try #require(try read("a"))
        #expect(deleted.isDeleted && text(deleted.body) == "{}")
        #expect(try database.read { [try $0.documentCount, try $0.deletedCount] } == [0, 1])
        #expect(code { _ = try database.writeBlocking { try $0.delete(name, parent: tombstone) } } == .notFound)
        #expect(code { _ = try put("a", #"{"n":2}"#, parent: first) } == .conflict)
        let third = try put("a", #"{"n":2}"#)
        #expect(third.generation == 3)
        #expect(try database.read { try $0.history(name, third) } == [tombstone, first])
        #expect(try database.read { [try $0.documentCount, try $0.deletedCount] } == [1, 0])
        #expect(code { _ = try database.writeBlocking { try $0.delete(id("none"), parent: first) } } == .notFound)
        #expect(try database.findFaults().isEmpty)
    }

    @Test("a body that is no document is refused, and the transaction goes on")
    func badBodies() throws {
        let bad = ["", "[]", "1", #"{"a":1e400}"#, #"{"a":1"#, #"{"_hidden":1}"#, #"{"a":1,"a":2}"#]
        let written = try database.writeBlocking { transaction in
            var written = 0
            for (index, body) in bad.enumerated() {
                #expect(
                    code { try transaction.put(id("bad\(index)"), body: bytes(body), parent: nil) } == .badDocument)
                try transaction.put(id("good\(index)"), body: bytes("{}"), parent: nil)
                written += 1
            }
            return written
        }
        #expect(try database.read { try $0.documentCount } == written)
        #expect(try database.read { try $0.document(id("bad0")) } == nil)
    }

    @Test("IDs are bytes: composed and decomposed é, quotes, percent and slash")
    func oddIDs() throws {
        let names = [
            "\u{E9}", "e\u{301}", "'", "\"", "%", "a%2Fb", "a/b", "_design/x", "a b", "--", "a\u{7F}", "\u{FFFF}", "A",
            "a",
            "; DROP TABLE document", "😀",
        ]
        for (index, name) in names.enumerated() { _ = try put(name, #"{"n":\#(index)}"#) }
        for (index, name) in names.enumerated() {
            let document = try #require(try read(name))
            #expect(text(document.body) == #"{"n":\#(index)}"#)
        }
        let listed = try database.read { try $0.allDocuments(limit: 100, bodies: false) }
        #expect(
            listed.map { Array($0.id.text.utf8) }
                == names.map { Array($0.utf8) }.sorted { $0.lexicographicallyPrecedes($1) })
    }

    @Test("local documents stay apart: no sequence, no list, no change")
    func localDocuments() throws {
        try database.writeBlocking { transaction in
            try transaction.setLocalDocument("cp-é", [0, 1, 2])
            try transaction.setLocalDocument("empty", [])
        }
        #expect(try database.read { try $0.localDocument("cp-é") } == [0, 1, 2])
        #expect(try database.read { try $0.localDocument("empty") } == [])
        #expect(try database.read { try $0.localDocument("cp-e\u{301}") } == nil)
        #expect(try database.read { try $0.lastSequence } == 0)
        #expect(try database.read { try $0.changes(since: 0, limit: 10) }.isEmpty)
        try database.writeBlocking { transaction in
            try transaction.setLocalDocument("cp-é", [3])
            try transaction.setLocalDocument("empty", nil)
            try transaction.setLocalDocument("never", nil)
        }
        #expect(try database.read { try $0.localDocument("cp-é") } == [3])
        #expect(try database.read { try $0.localDocument("empty") } == nil)
    }

    @Test("a list has its bounds, direction and limit")
    func ranges() throws {
        for name in ["a", "b", "c", "d", "e"] { _ = try put(name, "{}") }
        let c = try #require(try read("c"))
        _ = try put("c", "{}", parent: c.revision, deleted: true)
        func list(_ range: DocumentRange, limit: Int = 10) throws -> String {
            try database.read { try $0.allDocuments(in: range, limit: limit, bodies: true) }.map(\.id.text).joined()
        }
        #expect(try list(DocumentRange()) == "abde")
        #expect(try list(DocumentRange(includesDeleted: true)) == "abcde")
        #expect(try list(DocumentRange(lowest: "b", highest: "d")) == "bd")
        #expect(try list(DocumentRange(lowest: "b", includesLowest: false, highest: "d", includesHighest: false)) == "")
        #expect(try list(DocumentRange(lowest: "aa", highest: "\u{FFF0}", isDescending: true)) == "edb")
        #expect(try list(DocumentRange(lowest: "a", includesLowest: false), limit: 2) == "bd")
        #expect(try list(DocumentRange(), limit: 0) == "")
        #expect(try database.read { try $0.allDocuments(after: id("b"), limit: .max) }.map(\.id.text) == ["d", "e"])
        #expect(try database.read { try $0.allDocuments(after: nil, limit: 1) }.first?.body == [])
    }

    @Test("long histories are cut at the limit of a branch")
    func longHistory() throws {
        let name = try id("a")
        let last = try database.writeBlocking { transaction in
            var parent: RevisionID?
            for number in 0..<(StoreLimits.revisionsLimitDefault + 50) {
                parent = try transaction.put(name, body: bytes(#"{"n":\#(number)}"#), parent: parent).revision
            }
            return try #require(parent)
        }
        #expect(last.generation == UInt64(StoreLimits.revisionsLimitDefault + 50))
        let history = try #require(try database.read { try $0.history(name, last) })
        #expect(history.count == StoreLimits.revisionsLimitDefault - 1)
        #expect(try database.findFaults().isEmpty)
    }
}
