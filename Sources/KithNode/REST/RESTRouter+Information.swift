import KithAccess
import KithDocuments
import KithStore
import KithTransport

extension RESTRouter {
    /// What CouchDB says of every database and what is always the same here.
    static let constantInformation: [(String, JSONValue)] = [
        ("purge_seq", 0), ("compact_running", false), ("disk_format_version", 8), ("instance_start_time", "0"),
        ("props", [:]), ("cluster", JSONValue(object: [("q", 1), ("n", 1), ("w", 1), ("r", 1)])),
    ]

    /// What `GET /DATABASE` says.
    func information(_ database: OpenDatabase) async throws -> JSONValue {
        let size = JSONValue(Int64(clamping: database.database.sizeOnDisk))
        let answer = try await database.read { snapshot in
            (
                collections: try CollectionCounts.all(snapshot), deleted: try snapshot.deletedCount,
                sequence: try snapshot.lastSequence
            )
        }
        let own = answer.collections[0]
        let named = answer.collections.dropFirst().map { collection in
            JSONValue(object: [
                ("name", .string(collection.name.description)), ("doc_count", JSONValue(Int64(collection.documents))),
                ("conflicts", JSONValue(Int64(collection.conflicts))),
            ])
        }
        return JSONValue(
            object: Self.constantInformation + [
                ("db_name", .string(database.name.text)), ("doc_count", JSONValue(Int64(own.documents))),
                ("doc_del_count", JSONValue(Int64(answer.deleted))),
                ("update_seq", JSONValue(Int64(clamping: answer.sequence))),
                ("compact_running", .bool(database.isCompacting)),
                ("sizes", JSONValue(object: [("file", size), ("active", size), ("external", size)])),
                ("conflicts", JSONValue(Int64(own.conflicts))), ("uuid", .string(database.database.publicID)),
                ("collections", .array(named)),
            ])
    }

    /// `/DATABASE/_security`: who may do what with the database, all its collections included.
    func security(_ exchange: RESTExchange, _ keyspace: Keyspace) async throws {
        let request = exchange.request
        let keyspace = Keyspace(database: keyspace.database, collection: .default)
        try allow(request, "GET", "HEAD", "PUT")
        if request.method == "PUT" {
            let object = try request.jsonBody()
            guard let members = object.objectValue else {
                throw KithError(.badRequest, "Request body must be a JSON object")
            }
            _ = try SecurityRules(members)
            let text = object.canonicalBytes()
            guard text.count <= NodeLimits.securityBytesMax else {
                throw KithError(.tooLarge, "_security has more than \(NodeLimits.securityBytesMax) bytes")
            }
            try await keyspace.write(exchange.revocation) { try $0.setLocalDocument(RESTAccess.securityName, text) }
            node.rightsChanged(by: exchange)
            return exchange.respond(.ok())
        }
        let stored = try await keyspace.read { try $0.localDocument(RESTAccess.securityName) }
        let administrators = JSONValue(object: [("roles", ["_admin"])])
        let usual = JSONValue(object: [("admins", administrators), ("members", administrators)])
        exchange.respond(HTTPAnswer(200, body: (stored ?? usual.canonicalBytes()) + [UInt8(ascii: "\n")]))
    }

    /// `/DATABASE/_revs_limit`.
    func revisionsLimit(_ exchange: RESTExchange, _ database: OpenDatabase) async throws {
        let request = exchange.request
        try allow(request, "GET", "HEAD", "PUT")
        guard request.method == "PUT" else {
            let settings = try await database.read { try $0.settings() }
            return exchange.respond(HTTPAnswer(200, JSONValue(settings.revisionsLimit)))
        }
        guard let limit = (try? JSONValue(parsing: request.body))?.intValue else {
            throw KithError(.badRequest, "`rev_limit` must be a whole number")
        }
        _ = try await database.setSettings { $0.revisionsLimit = limit }
        exchange.respond(.ok())
    }

    /// `POST /DATABASE/_purge`: forgets leaves of documents, and tells nobody.
    func purge(_ exchange: RESTExchange, _ keyspace: Keyspace) async throws {
        let asked = try exchange.request.jsonObject().map { id, value in
            (try DocumentID(id), try DocumentView.revisions(value, "the revisions of a document"))
        }
        let purged = try await keyspace.write(exchange.revocation) { transaction in
            try asked.map { id, revisions in (id, try transaction.purge(id, revisions: revisions)) }
        }
        let rows = purged.map { id, revisions in
            (id.text, JSONValue.array(revisions.map { .string($0.description) }))
        }
        exchange.respond(
            HTTPAnswer(201, JSONValue(object: [("purge_seq", .null), ("purged", JSONValue(object: rows))])))
    }
}
