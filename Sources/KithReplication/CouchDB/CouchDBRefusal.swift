import KithDocuments
import KithStore

/// A revision that one side does not take, or cannot send.
struct CouchDBRefusal {
    /// The document as it came.
    let id: String
    let revision: String
    let isOutgoing: Bool
    /// Whether the server is who refused it.
    let isByPeer: Bool
    let code: Int
    let reason: String

    /// The revision, where its name is legal.
    var name: RevisionName? {
        guard let id = try? DocumentID(id), let revision = try? RevisionID(parsing: revision) else { return nil }
        return RevisionName(id: id, revision: revision)
    }

    /// What this node does not take of the server.
    static func incoming(_ id: String, _ revision: String, _ error: KithError) -> CouchDBRefusal {
        CouchDBRefusal(
            id: id, revision: revision, isOutgoing: false, isByPeer: false, code: error.code.httpStatus,
            reason: error.message)
    }

    func record(peer: String, wallSeconds: Int64) -> DocumentRefusal {
        DocumentRefusal(
            key: DocumentRefusal.Key(
                peer: peer, collection: .default, id: String(id.prefix(1_000)), isOutgoing: isOutgoing),
            revision: String(revision.prefix(1_000)), isByPeer: isByPeer, code: code,
            reason: CouchDBAnswer.shown(reason), wallSeconds: wallSeconds)
    }
}
