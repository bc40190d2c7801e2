import KithDocuments
import KithStore
import Testing

@Suite("Store: many edits at once")
struct BatchTests {
    let database: Database

    init() throws {
        database = try memoryDatabase()
        try database.writeBlocking { _ = try $0.put(id("old"), body: bytes(#"{"n":0}"#), parent: nil) }
    }

    private func edits() throws -> [DocumentEdit] {
        let old = try #require(try database.read { try $0.document(id("old")) }).revision
        return [
            DocumentEdit(id: try id("new"), body: bytes(#"{"n":1}"#)),
            DocumentEdit(id: try id("old"), body: bytes(#"{"n":2}"#)),
            DocumentEdit(id: try id("broken"), body: bytes(#"{"n":"#)),
            DocumentEdit(id: try id("old"), body: bytes("{}"), parent: old, isDeleted: true),
            DocumentEdit(id: try id("new"), body: bytes(#"{"n":3}"#)),
            DocumentEdit(id: try id("last"), body: bytes(#"{"n":4}"#)),
        ]
    }

    @Test("the others are kept: each edit tells what it made or why not, and names its document")
    func keepOthers() throws {
        let edits = try edits()
        let outcomes = try database.writeBlocking { try $0.putAll(edits, onFailure: .keepOthers) }
        let codes: [ErrorCode?] = outcomes.map {
            if case .failure(let error) = $0 { error.code } else { nil }
        }
        #expect(codes == [nil, .conflict, .badDocument, nil, .conflict, nil])
        for (edit, outcome) in zip(edits, outcomes) {
            switch outcome {
            case .success(let made):
                let document = try #require(try database.read { try $0.document(edit.id) })
                #expect(made.id == edit.id)
                #expect(made.revision == document.revision)
                #expect(made.sequence == document.sequence)
                #expect(document.isDeleted == edit.isDeleted)
            case .failure(let error):
                #expect(error.message.contains(edit.id.text))
            }
        }
        #expect(try database.read { [try $0.documentCount, try $0.deletedCount] } == [2, 1])
        #expect(try database.findFaults() == [])
    }

    @Test("all is undone: the error names the first document and how many failed")
    func undoAll() throws {
        let edits = try edits()
        let digest = try database.read { try $0.digest() }
        let error = #expect(throws: KithError.self) {
            try database.writeBlocking { try $0.putAll(edits, onFailure: .undoAll) }
        }
        #expect(error?.code == .conflict)
        #expect(error?.message.contains("3 of 6 edits failed") == true)
        #expect(error?.message.contains("the first, of document old") == true)
        #expect(try database.read { try $0.digest() } == digest)
        #expect(try database.findFaults() == [])
    }

    @Test("all is undone even if the body swallows the error, and other bodies of the commit are not")
    func undoAllSwallowed() throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder)
        defer { database.close() }
        let gate = Gate()
        database.submitWrite({ _ in gate.wait() }, completion: { _ in })
        database.submitWrite({ try $0.put(id("before"), body: bytes("{}"), parent: nil).sequence }) { _ in }
        let outcome = Promise<ErrorCode>()
        let edits = [
            DocumentEdit(id: try id("good"), body: bytes("{}")), DocumentEdit(id: try id("bad"), body: bytes("[]")),
        ]
        database.submitWrite({ transaction in
            try transaction.put(id("earlier"), body: bytes("{}"), parent: nil)
            _ = try? transaction.putAll(edits, onFailure: .undoAll)
        }) { result in
            if case .failure(let error) = result { outcome.set((error as? KithError)?.code ?? .internal) }
        }
        gate.open()
        #expect(outcome.wait() == .badDocument)
        #expect(try database.read { try $0.allDocuments(after: nil, limit: 9) }.map(\.id.text) == ["before"])
        #expect(try database.findFaults() == [])
    }

    @Test("several edits of one document follow each other, and thousands go in one write")
    func many() throws {
        let first = DocumentEdit(id: try id("chain"), body: bytes(#"{"n":1}"#))
        let made = try database.writeBlocking { transaction in
            let one = try transaction.putAll([first], onFailure: .undoAll)[0].get()
            let two = DocumentEdit(id: try id("chain"), body: bytes(#"{"n":2}"#), parent: one.revision)
            return try transaction.putAll([two], onFailure: .undoAll)[0].get()
        }
        #expect(made.revision.generation == 2)
        let edits = try (0..<5_000).map { DocumentEdit(id: try id("\($0)"), body: bytes(#"{"n":\#($0)}"#)) }
        for policy in [DocumentEdit.FailurePolicy.keepOthers, .undoAll] {
            let database = try memoryDatabase()
            let outcomes = try database.writeBlocking { try $0.putAll(edits, onFailure: policy) }
            #expect(try outcomes.map { try $0.get().sequence } == Array(1...5_000))
        }
        #expect(try database.writeBlocking { try $0.putAll([], onFailure: .undoAll) }.isEmpty)
    }

    @Test("what is wrong with the storage is no document's fault, and undoes the whole write")
    func storage() throws {
        let folder = TemporaryFolder()
        let database = try fileDatabase(folder)
        defer { database.close() }
        try database.limitPages(try database.limitPages(0) + 8)
        let body = #"{"text":"\#(String(repeating: "x", count: 3_000))"}"#
        let edits = try (0..<50).map { DocumentEdit(id: try id("\($0)"), body: bytes(body)) }
        let found = code { _ = try database.writeBlocking { try $0.putAll(edits, onFailure: .keepOthers) } }
        #expect(found == .diskFull)
        try database.limitPages(0)
        #expect(try database.read { try $0.documentCount } == 0)
        #expect(try database.findFaults() == [])
    }
}
