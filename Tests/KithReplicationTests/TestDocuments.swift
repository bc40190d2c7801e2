import KithDocuments
import KithStore
import KithWire

extension BLIPMessage {
    /// The body as text.
    var text: String { String(decoding: body, as: UTF8.self) }

    /// Domain and code of an error, such as `HTTP/409`; `nil` for a success.
    var errorName: String? { error.map { "\($0.domain)/\($0.code)" } }
}

extension Database {
    @discardableResult
    func put(_ id: String, _ body: String, parent: RevisionID? = nil, isDeleted: Bool = false) throws -> RevisionID {
        let id = try DocumentID(id)
        return try writeBlocking { transaction in
            try transaction.put(id, body: Array(body.utf8), parent: parent, isDeleted: isDeleted).revision
        }
    }

    /// Stores a revision made elsewhere.
    func insert(_ id: String, _ revision: String, history: [String] = [], isDeleted: Bool = false) throws {
        let incoming = IncomingRevision(
            id: try DocumentID(id), revision: try RevisionID(parsing: revision),
            history: try history.map { try RevisionID(parsing: $0) }, isDeleted: isDeleted, body: Array("{}".utf8))
        _ = try writeBlocking { try $0.insert(incoming) }
    }

    /// The winner of a document and its body, as text: `2-bb {"n":1}`; `nil` when there is no such document.
    func winner(_ id: String) throws -> String? {
        let id = try DocumentID(id)
        return try read { snapshot in
            try snapshot.document(id).map {
                "\($0.revision) \(String(decoding: $0.body, as: UTF8.self))\($0.isDeleted ? " deleted" : "")"
            }
        }
    }

    /// The leaves of a document, the winner first.
    func leaves(_ id: String) throws -> [String] {
        let id = try DocumentID(id)
        return try read { try $0.document(id)?.leaves.map(\.revision.description) ?? [] }
    }
}
