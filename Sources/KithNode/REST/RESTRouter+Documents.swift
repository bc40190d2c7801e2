import KithDocuments
import KithStore
import KithTransport

extension RESTRouter {
    /// `/DATABASE/DOCUMENT`.
    func document(_ exchange: RESTExchange, _ keyspace: Keyspace, _ id: DocumentID) async throws {
        let request = exchange.request
        try allow(request, "GET", "HEAD", "PUT", "DELETE")
        switch request.method {
        case "PUT": try await put(exchange, keyspace, id)
        case "DELETE":
            guard let text = request.query["rev"] else {
                throw KithError(
                    .conflict, "the revision to delete is missing", remedy: "Name the current one: ?rev=REVISION")
            }
            let parent = try RevisionID(parsing: text)
            let written = try await keyspace.write { transaction in try transaction.delete(id, parent: parent).revision
            }
            exchange.respond(Self.written(200, id, written))
        default: try await get(exchange, keyspace, id)
        }
    }

    private func get(_ exchange: RESTExchange, _ keyspace: Keyspace, _ id: DocumentID) async throws {
        let wanted = try exchange.request.query["rev"].map { text throws(KithError) in try RevisionID(parsing: text) }
        let showsConflicts = try exchange.request.flag("conflicts")
        let document = try await keyspace.read { snapshot in try snapshot.document(id, revision: wanted) }
        guard let document else { throw KithError(.notFound, wanted == nil ? "missing" : "that revision is not here") }
        guard wanted != nil || !document.isDeleted else { throw KithError(.notFound, "deleted") }
        exchange.respond(
            HTTPAnswer(
                200, body: RESTDocument.text(document, withConflicts: showsConflicts) + [UInt8(ascii: "\n")],
                headers: [("ETag", "\"\(document.revision)\"")]))
    }

    private func put(_ exchange: RESTExchange, _ keyspace: Keyspace, _ id: DocumentID) async throws {
        let request = exchange.request
        let document = try RESTDocument(parsing: request.body)
        if let inside = document.id, inside != id {
            throw KithError(.badDocument, "_id in the body is not the document's ID in the path")
        }
        var parent = document.revision
        if let text = request.query["rev"] {
            let named = try RevisionID(parsing: text)
            if let parent, parent != named { throw KithError(.badRequest, "rev and _rev in the body are not the same") }
            parent = named
        }
        let written = try await keyspace.write { [parent] transaction in
            try document.put(id, parent: parent, in: transaction)
        }
        exchange.respond(Self.written(201, id, written))
    }

    private static func written(_ status: Int, _ id: DocumentID, _ revision: RevisionID) -> HTTPAnswer {
        HTTPAnswer(
            status,
            JSONValue(object: [("ok", true), ("id", .string(id.text)), ("rev", .string(revision.description))]),
            headers: [("ETag", "\"\(revision)\"")])
    }

    /// Many documents at once: each succeeds or fails alone; the answers are in their order.
    func bulkDocuments(_ exchange: RESTExchange, _ keyspace: Keyspace) async throws {
        let value = try JSONValue(parsing: exchange.request.body)
        guard let items = value["docs"]?.arrayValue else {
            throw KithError(.badRequest, "the body must be {\"docs\": [...]}")
        }
        // With new_edits=false revisions are kept as they come, as a replicator sends them.
        let keepsRevisions = value["new_edits"]?.boolValue == false
        let documents = items.map { item in Result { try RESTDocument(item) } }
        let answers = try await keyspace.write { transaction in
            documents.map { document -> JSONValue in
                var name = ""
                do {
                    let document = try document.get()
                    let id = try document.id ?? DocumentID(RESTDocument.newID())
                    name = id.text
                    let written =
                        try keepsRevisions
                        ? document.insert(id, in: transaction)
                        : document.put(id, parent: document.revision, in: transaction)
                    return JSONValue(object: [
                        ("ok", true), ("id", .string(name)), ("rev", .string(written.description)),
                    ])
                } catch {
                    let error =
                        (error as? KithError) ?? KithError(.internal, "the document was not written", cause: error)
                    return JSONValue(object: [
                        ("id", .string(name)), ("error", .string(error.code.name)), ("reason", .string(error.message)),
                    ])
                }
            }
        }
        var answersWithIDs = answers
        for (index, document) in documents.enumerated() {
            guard case .failure = document, let id = items[index]["_id"]?.stringValue,
                let error = answers[index]["error"],
                let reason = answers[index]["reason"]
            else { continue }
            answersWithIDs[index] = JSONValue(object: [("id", .string(id)), ("error", error), ("reason", reason)])
        }
        exchange.respond(HTTPAnswer(201, .array(answersWithIDs)))
    }

    /// All live documents in the order of their IDs, in pages, so that memory does not grow with the database.
    func allDocuments(_ exchange: RESTExchange, _ keyspace: Keyspace) async throws {
        let request = exchange.request
        var left = try request.integer("limit") ?? Int.max
        let includesBodies = try request.flag("include_docs")
        let showsConflicts = try request.flag("conflicts")
        var range = DocumentRange()
        range.lowest = try request.key("startkey")
        range.highest = try request.key("endkey")
        let total = try await keyspace.read { try $0.documentCount }
        exchange.startStream()
        await exchange.send(Array("{\"total_rows\":\(total),\"offset\":0,\"rows\":[\n".utf8))
        var isFirst = true
        do {
            while left > 0, !exchange.isClosed {
                let limit = min(left, NodeLimits.pageRows)
                let page = try await keyspace.read { [range] snapshot in
                    try snapshot.allDocuments(in: range, limit: limit, bodies: includesBodies)
                }
                var bytes: [UInt8] = []
                for document in page {
                    if !isFirst { bytes.append(contentsOf: ",\n".utf8) }
                    isFirst = false
                    RESTDocument.appendRow(
                        document, withBody: includesBodies, withConflicts: showsConflicts, to: &bytes)
                }
                await exchange.send(bytes)
                left -= page.count
                guard page.count == limit, let last = page.last else { break }
                range.lowest = last.id.text
                range.includesLowest = false
            }
        } catch {
            // The head is sent: only cutting it off tells the client that this is not all.
            return exchange.breakStream()
        }
        await exchange.send(Array("\n]}\n".utf8))
        exchange.endStream()
    }
}
