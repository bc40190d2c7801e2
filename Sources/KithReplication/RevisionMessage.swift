import KithDocuments
import KithStore
import KithWire

/// Reads the properties of a `rev` message.
enum RevisionMessage {
    /// The revision that a `rev` or `norev` message names, or `nil` when it names none.
    static func name(_ message: BLIPMessage) -> RevisionName? {
        guard let id = message.properties["id"], let revision = message.properties["rev"],
            let id = try? DocumentID(id), let revision = try? RevisionID(parsing: revision)
        else { return nil }
        return RevisionName(id: id, revision: revision)
    }

    /// The revision that a `rev` message carries.
    ///
    /// - Throws: `KithError` saying which part cannot be used; the body is looked at only by the store.
    static func parse(_ message: BLIPMessage, limits: ReplicationLimits) throws(KithError) -> IncomingRevision {
        guard let id = message.properties["id"], let revision = message.properties["rev"] else {
            throw KithError(.badRequest, "a rev message needs the properties id and rev")
        }
        if message.properties["deltaSrc"] != nil {
            // Never asked for: the sender answers 422 by sending the whole body.
            throw KithError(.deltaNotSupported, "deltas are not taken")
        }
        var history: [RevisionID] = []
        if let text = message.properties["history"], !text.isEmpty {
            for part in text.utf8.split(separator: UInt8(ascii: ",")) {
                guard history.count < limits.receivedHistoryMax else {
                    throw KithError(.tooLarge, "a history of more than \(limits.receivedHistoryMax) revisions")
                }
                let trimmed = part.drop { $0 == UInt8(ascii: " ") }
                history.append(try RevisionID(parsing: String(decoding: trimmed, as: UTF8.self)))
            }
        }
        return IncomingRevision(
            id: try DocumentID(id), revision: try RevisionID(parsing: revision), history: history,
            isDeleted: message.properties.bool("deleted"), body: message.body)
    }
}
