import KithDocuments
import KithStore

/// The body of a `proposeChanges` message, read, and of its answer, written.
///
/// A list holds entries `[id, revision, parent?, size?]`, where an empty parent means that none is known; the answer
/// holds, in the same order, 0 for each revision that shall be sent and an HTTP status for each other one.
enum ProposalsList {
    /// One proposed revision.
    struct Entry {
        /// What is proposed, or `nil` when an ID in it is not legal here.
        var proposal: Proposal?
        /// The IDs as they came, for the record of a refusal.
        var rawID: String
        var rawRevision: String
    }

    /// Reads a list.
    ///
    /// - Throws: `KithError` with `.protocolViolation` when it is not a list of entries or has too many.
    static func parse(_ body: [UInt8], entriesMax: Int) throws(KithError) -> [Entry] {
        let items = try ChangesList.array(body, what: "a list of proposed changes")
        guard items.count <= entriesMax else {
            throw KithError(
                .protocolViolation, "a list with \(items.count) proposed changes; \(entriesMax) are allowed")
        }
        var entries: [Entry] = []
        entries.reserveCapacity(items.count)
        for item in items {
            guard let fields = item.arrayValue, fields.count >= 2, let id = fields[0].stringValue,
                let revision = fields[1].stringValue
            else { throw KithError(.protocolViolation, "an entry of proposed changes is not [id, revision, parent]") }
            let parent = fields.count > 2 ? fields[2].stringValue ?? "" : ""
            entries.append(
                Entry(proposal: try? proposal(id, revision, parent), rawID: id, rawRevision: revision))
        }
        return entries
    }

    private static func proposal(_ id: String, _ revision: String, _ parent: String) throws(KithError) -> Proposal {
        Proposal(
            id: try DocumentID(id), revision: try RevisionID(parsing: revision),
            parent: parent.isEmpty ? nil : try RevisionID(parsing: parent))
    }

    /// Appends one answer to a list of answers under construction.
    ///
    /// - Parameter namesWinner: whether a conflict is told with the revision that it is with (`conflictIncludesRev`).
    static func append(_ answer: ProposalAnswer, namesWinner: Bool, to list: inout [UInt8]) {
        switch answer {
        case .acceptable: ChangesList.append(.declined, to: &list)
        case .known: ChangesList.append(.refused(304), to: &list)
        case .conflict(let winner):
            guard namesWinner else { return ChangesList.append(.refused(409), to: &list) }
            list.append(list.isEmpty ? UInt8(ascii: "[") : UInt8(ascii: ","))
            list.append(contentsOf: "{\"status\":409,\"rev\":\"\(winner)\"}".utf8)
        }
    }
}
