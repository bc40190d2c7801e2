import KithDocuments
import KithStore
import KithTransport

extension RESTRouter {
    private struct Item: Sendable {
        var id: String?
        var document: Result<RESTDocument, CouchDBError>
    }

    /// `POST /DATABASE/_bulk_docs`: each document succeeds or fails alone; the answers are in their order. With
    /// `new_edits=false` revisions are kept as they come, and only what failed is answered.
    func bulkDocuments(_ exchange: RESTExchange, _ keyspace: Keyspace) async throws {
        try exchange.request.requireJSON()
        let (items, keepsRevisions) = try await items(exchange.request.body)
        let mayWriteDesignDocuments = exchange.mayWriteDesignDocuments
        let answers = try await keyspace.write(exchange.revocation) { transaction in
            var answers = RESTContent()
            answers.append("[")
            for item in items {
                var id = item.id ?? ""
                var revision: RevisionID?
                do {
                    let document = try item.document.get()
                    revision = document.revision
                    let documentID = try document.id ?? DocumentID(RESTDocument.newID())
                    id = documentID.text
                    try RESTExchange.checkWriting(documentID, mayWriteDesignDocuments)
                    let written =
                        try keepsRevisions
                        ? document.insert(documentID, in: transaction)
                        : document.put(documentID, parent: document.revision, in: transaction)
                    guard !keepsRevisions else { continue }
                    answers.append(answers.heldByteCount > 1 ? ",{\"id\":" : "{\"id\":")
                    answers.append(jsonString: id)
                    answers.append(",\"ok\":true,\"rev\":\"")
                    answers.append(written)
                    answers.append("\"}")
                } catch {
                    var members: [(String, JSONValue)] = [("id", .string(id))]
                    if keepsRevisions, let revision { members.append(("rev", .string(revision.description))) }
                    if answers.heldByteCount > 1 { answers.append(",") }
                    answers.append(json: JSONValue(object: members + CouchDBError(error).members))
                }
            }
            answers.append("]\n")
            return answers
        }
        await exchange.respond(201, answers, from: keyspace)
    }

    /// The documents of the body; of a long one they are read beside the event loop, which all links share.
    private func items(_ body: [UInt8]) async throws -> (items: [Item], keepsRevisions: Bool) {
        if body.count <= NodeLimits.parsedOnLoopBytesMax { return try Self.items(body) }
        return try await EventLoop.beside { try Self.items(body) }
    }

    /// Reads each on its own, so that one that is wrong does not refuse the others.
    private nonisolated static func items(_ body: [UInt8]) throws -> (items: [Item], keepsRevisions: Bool) {
        try body.withUnsafeBytes { bytes in
            let members = try JSONOutline.members(of: bytes)
            guard let list = members.first(where: { $0.name == "docs" })?.range else {
                throw KithError(.badRequest, "POST body must include `docs` parameter")
            }
            var keepsRevisions = false
            if let range = members.first(where: { $0.name == "new_edits" })?.range {
                guard let flag = try JSONValue(parsing: UnsafeRawBufferPointer(rebasing: bytes[range])).boolValue else {
                    throw KithError(.badRequest, "new_edits must be true or false")
                }
                keepsRevisions = !flag
            }
            let ranges: [Range<Int>]
            do {
                ranges = try JSONOutline.elements(of: bytes, in: list)
            } catch {
                throw KithError(.badRequest, "`docs` parameter must be an array")
            }
            let items = ranges.map { range in
                let text = Array(bytes[range])
                let document = Result { () throws(CouchDBError) in try RESTDocument.reading(text) }
                guard case .failure = document else { return Item(document: document) }
                // Its answer is known by the ID, as far as there is one.
                let element = UnsafeRawBufferPointer(rebasing: bytes[range])
                let place = (try? JSONOutline.members(of: element))?.first { $0.name == "_id" }?.range
                let id = place.flatMap { try? JSONValue(parsing: UnsafeRawBufferPointer(rebasing: element[$0])) }
                return Item(id: id?.stringValue, document: document)
            }
            return (items, keepsRevisions)
        }
    }
}
