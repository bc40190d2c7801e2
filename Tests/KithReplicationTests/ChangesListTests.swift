import KithDocuments
import Testing

@testable import KithReplication

@Suite("Lists of changes")
struct ChangesListTests {
    private func parse(_ text: String, max: Int = 100) throws -> [ChangesList.Entry] {
        try ChangesList.parse(Array(text.utf8), entriesMax: max)
    }

    @Test("what is written is read, with any document ID")
    func roundTrip() throws {
        let id = try DocumentID("patient/Zoë \"quoted\" é🙂")
        let revision = try RevisionID(parsing: "3-" + String(repeating: "ab", count: 20))
        var body: [UInt8] = []
        ChangesList.append(sequence: 7, id, revision, isDeleted: false, to: &body)
        ChangesList.append(sequence: 9, id, revision, isDeleted: true, to: &body)
        ChangesList.finish(&body)
        let entries = try ChangesList.parse(body, entriesMax: 2)
        #expect(entries.map { String(decoding: $0.sequence, as: UTF8.self) } == ["7", "9"])
        #expect(entries.allSatisfy { $0.name == RevisionName(id: id, revision: revision) })
    }

    @Test("null and nothing are empty lists")
    func emptyForms() throws {
        #expect(try parse("null").isEmpty)
        #expect(try parse("").isEmpty)
        #expect(try parse("[]").isEmpty)
    }

    @Test("sequences of other products stay as they came")
    func opaqueSequences() throws {
        let entries = try parse(#"[["5:10","a","1-aa"],[12,"b","1-bb",0,300]]"#)
        #expect(entries.map { String(decoding: $0.sequence, as: UTF8.self) } == ["\"5:10\"", "12"])
    }

    @Test("a deletion is a truth value or bits; what was only taken from this side is not asked for")
    func flags() throws {
        let entries = try parse(
            #"[[1,"a","1-aa",true],[2,"a","1-aa",false],[3,"a","1-aa",0],[4,"a","1-aa",1],[5,"a","1-aa",2],"#
                + #"[6,"a","1-aa",3],[7,"a","1-aa",4],[8,"a","1-aa",5],[9,"a","1-aa",null,9],[10,"a","nonsense",2]]"#)
        #expect(
            entries.map { $0.name != nil } == [true, true, true, true, false, false, false, true, true, false])
        #expect(
            entries.map(\.isGone) == [false, false, false, false, true, true, true, false, false, false])
    }

    @Test("one bad name spoils its entry and no other")
    func badNames() throws {
        let entries = try parse(#"[[1,"_secret","1-aa"],[2,"good","1-aa"],[3,"good","nonsense"],[4,"","1-aa"]]"#)
        #expect(entries.map { $0.name != nil } == [false, true, false, false])
    }

    @Test(
        "what is no list of entries is refused",
        arguments: [
            "{}", "1", "\"a\"", "[1]", "[[1]]", "[[1,\"a\"]]", "[[1,2,3]]", "[[1,\"a\",\"1-aa\"]",
            "[[1,\"a\",\"1-aa\"]]x", "nul",
        ])
    func refused(text: String) {
        #expect(throws: KithError.self) { try parse(text) }
    }

    @Test("more entries than allowed are refused")
    func tooMany() {
        #expect(throws: KithError.self) { try parse(#"[[1,"a","1-aa"],[2,"b","1-aa"]]"#, max: 1) }
    }

    @Test("a list cut anywhere is refused, never half read")
    func cut() throws {
        let text = #"[[1,"a","1-aa"],[2,"b","1-bb",true]]"#
        for length in 1..<text.utf8.count {
            #expect(throws: KithError.self) { try parse(String(decoding: Array(text.utf8)[..<length], as: UTF8.self)) }
        }
    }

    @Test("answers: ancestors, not wanted, refused, and nothing at the end for not wanted")
    func answers() throws {
        var body: [UInt8] = []
        ChangesList.append(.wanted([try RevisionID(parsing: "1-aa")]), to: &body)
        ChangesList.append(.declined, to: &body)
        ChangesList.append(.refused(409), to: &body)
        ChangesList.finish(&body)
        #expect(String(decoding: body, as: UTF8.self) == #"[["1-aa"],0,409]"#)
        let answers = try ChangesList.parseAnswers(body, count: 5)
        let texts = answers.map { answer in
            switch answer {
            case .wanted(let known): "wanted \(known.count)"
            case .declined: "declined"
            case .refused(let status): "refused \(status)"
            }
        }
        #expect(texts == ["wanted 1", "declined", "refused 409", "declined", "declined"])
    }
}
