import KithDocuments
import KithStore

/// Indexes as programs name them: kept, listed and removed as CouchDB does, and not used yet.
extension RESTRouter {
    /// The order of IDs, which is there without being made.
    static var allDocumentsIndex: JSONValue {
        JSONValue(object: [
            ("ddoc", .null), ("name", "_all_docs"), ("type", "special"),
            ("def", JSONValue(object: [("fields", .array([JSONValue(object: [("_id", "asc")])]))])),
        ])
    }

    /// `/DATABASE/_index`, and `DELETE /DATABASE/_index/_design/DOCUMENT/json/NAME`.
    func indexes(_ exchange: RESTExchange, _ keyspace: Keyspace) async throws {
        let request = exchange.request
        let rest = request.path.dropFirst(2)
        guard rest.isEmpty else { return try await deleteIndex(exchange, keyspace, Array(rest)) }
        try allow(request, "GET", "HEAD", "POST")
        if request.method == "POST" { return try await makeIndex(exchange, keyspace) }
        let made = try await indexesMade(keyspace)
        exchange.respond(
            HTTPAnswer(
                200,
                JSONValue(object: [
                    ("total_rows", JSONValue(made.count + 1)), ("indexes", .array([Self.allDocumentsIndex] + made)),
                ])))
    }

    /// The indexes of all design documents, whose bodies are read one after the other, in reads of their own.
    ///
    /// - Throws: `.tooLarge` where there is more than can be listed.
    private func indexesMade(_ keyspace: Keyspace) async throws -> [JSONValue] {
        var made: [JSONValue] = []
        var byteCount = 0
        var range = DocumentRange(lowest: "_design/", highest: "_design0", includesHighest: false)
        while true {
            let from = range
            let next = try await keyspace.read { snapshot -> (id: DocumentID, made: [JSONValue])? in
                guard let document = try snapshot.allDocuments(in: from, limit: 1, bodies: true).first else {
                    return nil
                }
                let body = try? JSONValue(parsing: document.body)
                return (document.id, body.map { IndexDefinition.all(in: $0, of: document.id).map(\.json) } ?? [])
            }
            guard let next else { return made }
            made += next.made
            for index in next.made { byteCount += index.canonicalBytes().count }
            guard made.count <= NodeLimits.indexesListedMax, byteCount <= NodeLimits.indexesListedBytesMax else {
                throw KithError(
                    .tooLarge, "there are more indexes than can be listed",
                    remedy: "Delete design documents that nobody uses")
            }
            range.lowest = next.id.text
            range.includesLowest = false
        }
    }

    private func makeIndex(_ exchange: RESTExchange, _ keyspace: Keyspace) async throws {
        let index = try IndexDefinition(exchange.request.jsonObject())
        let isNew = try await keyspace.write(exchange.revocation) { transaction in
            let before = try transaction.document(index.document)
            let isThere = before.map { !$0.isDeleted } ?? false
            let body = isThere ? try before.map { try JSONValue(parsing: $0.body) } : nil
            guard let new = try index.added(to: body) else { return false }
            _ = try transaction.put(
                index.document, body: new.canonicalBytes(), parent: isThere ? before?.revision : nil,
                attachments: isThere ? before?.attachments ?? AttachmentList() : AttachmentList())
            return true
        }
        exchange.respond(
            HTTPAnswer(
                200,
                JSONValue(object: [
                    ("result", isNew ? "created" : "exists"), ("id", .string(index.document.text)),
                    ("name", .string(index.name)),
                ])))
    }

    private func deleteIndex(_ exchange: RESTExchange, _ keyspace: Keyspace, _ path: [String]) async throws {
        try allow(exchange.request, "DELETE")
        // `_design/DOCUMENT` may be one part of the path or two, or `_design` left out.
        let parts = path.first == "_design" ? Array(path.dropFirst()) : path
        guard parts.count == 3, parts[1] == "json" else { throw KithError(.notFound, "there is no such endpoint") }
        let id = try DocumentID(parts[0].hasPrefix("_design/") ? parts[0] : "_design/" + parts[0])
        try await keyspace.write(exchange.revocation) { transaction in
            guard let document = try transaction.document(id), !document.isDeleted,
                var body = try JSONValue(parsing: document.body).objectValue,
                IndexDefinition.all(in: .object(body), of: id).contains(where: { $0.has(parts[2]) })
            else { throw CouchDBError.missing() }
            var views = body["views"]?.objectValue ?? [:]
            views[parts[2]] = nil
            body["views"] = .object(views)
            // With its last index it goes, unless there is something else in it.
            let isEmpty = views.isEmpty && document.attachments.isEmpty && body.count == 2
            _ = try transaction.put(
                id, body: isEmpty ? Array("{}".utf8) : JSONValue.object(body).canonicalBytes(),
                parent: document.revision, isDeleted: isEmpty, attachments: document.attachments)
        }
        exchange.respond(.ok())
    }
}
