import KithDocuments
import KithStore
import KithTransport

extension RESTRouter {
    /// `POST /DATABASE/_conflicts`: ends a conflict of a document.
    ///
    /// The body names the document (`id`), the leaf that stays (`keep`), those that end (`drop`), and, for a merge, the
    /// merged document (`doc`). What stays becomes a child of that of the leaves which wins.
    func resolve(_ exchange: RESTExchange, _ keyspace: Keyspace) async throws {
        try exchange.request.requireJSON()
        let value = try exchange.request.jsonBody()
        guard let name = value["id"]?.stringValue, let keep = value["keep"]?.stringValue,
            let drop = value["drop"]?.arrayValue
        else {
            throw KithError(
                .badRequest, "the body must be {\"id\": ID, \"keep\": REVISION, \"drop\": [REVISION, …]}",
                remedy: "A merged document goes with it as \"doc\"")
        }
        let id = try DocumentID(name)
        try exchange.checkWriting(id)
        let winner = try RevisionID(parsing: keep)
        let losers = try drop.map { item throws(KithError) in
            guard let text = item.stringValue else { throw KithError(.badRequest, "drop must be a list of revisions") }
            return try RevisionID(parsing: text)
        }
        let merged = try value["doc"].map { value throws(KithError) in try RESTDocument(value) }
        if let inside = merged?.id, inside != id {
            throw KithError(.badDocument, "_id in doc is not the ID of the document in conflict")
        }
        let written = try await keyspace.write(exchange.revocation) { transaction in
            guard let merged else { return try transaction.resolve(id, winner: winner, losers: losers).revision }
            let attachments = try merged.storedAttachments(
                id, ancestors: [winner], generation: winner.generation + 1, in: transaction)
            return try transaction.resolve(
                id, winner: winner, losers: losers, body: merged.body, isDeleted: merged.isDeleted,
                attachments: attachments
            ).revision
        }
        exchange.respond(
            HTTPAnswer(
                201, JSONValue(object: [("ok", true), ("id", .string(id.text)), ("rev", .string(written.description))]))
        )
    }
}
