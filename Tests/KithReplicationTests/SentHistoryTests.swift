import KithDocuments
import KithStore
import Testing

@testable import KithReplication

@Suite("Histories that Kith nodes are told")
struct SentHistoryTests {
    @Test(
        "merge marks take no room of the revisions, and none is told without the revision that it was made after",
        arguments: [(4, 4), (3, 3), (2, 1)])
    func marks(asked: Int, told: Int) throws {
        let (first, winner) = (try RevisionID(parsing: "1-aa"), try RevisionID(parsing: "2-bb"))
        let mark = try RevisionID.mergeMark(of: RevisionID(parsing: "2-aa"), after: winner)
        let history = [try RevisionID(parsing: "4-cc"), mark, winner, first]
        let sent = RevisionForTransfer(
            id: try DocumentID("doc"), revision: try RevisionID(parsing: "5-dd"), isDeleted: false, body: [],
            attachments: AttachmentList(), history: history)
        let expected = history.prefix(told).map(\.description).joined(separator: ",")
        #expect(SentHistory.text(of: sent, known: [], max: asked) == expected)
        // Where it joins what is known, all between is told.
        #expect(SentHistory.text(of: sent, known: [first], max: 4) == history.map(\.description).joined(separator: ","))
    }
}
