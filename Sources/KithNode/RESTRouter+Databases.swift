import KithDocuments
import KithStore
import KithTransport
import KithWire

extension RESTRouter {
    /// Everything under `/DATABASE`.
    func database(_ exchange: RESTExchange, _ name: DatabaseName) async throws {
        let request = exchange.request
        guard request.path.count > 1 else { return try await databaseItself(exchange, name) }
        let endpoint = request.path[1]
        if endpoint == "_check", request.path.count == 2 {
            try allow(request, "POST")
            return try await check(exchange, name)
        }
        let database = try node.registry.database(name)
        switch endpoint {
        case "_digest" where request.path.count == 2:
            try allow(request, "GET", "HEAD")
            let (digest, sequence) = try await database.read { (try $0.digest(), try $0.lastSequence) }
            exchange.respond(
                HTTPAnswer(
                    200,
                    JSONValue(object: [
                        ("digest", .string(digest.hex)), ("documents", JSONValue(Int64(digest.documents))),
                        ("deleted", JSONValue(Int64(digest.deleted))),
                        ("revisions", JSONValue(Int64(digest.leafRevisions))),
                        ("conflicts", JSONValue(Int64(digest.conflicts))),
                        ("update_seq", JSONValue(Int64(clamping: sequence))),
                    ])))
        case "_settings" where request.path.count == 2:
            try allow(request, "GET", "HEAD", "PUT")
            try await settings(exchange, database)
        case "_conflicts" where request.path.count == 2:
            try allow(request, "GET", "HEAD", "POST")
            if request.method == "POST" { return try await resolve(exchange, database) }
            try await conflicts(exchange, database)
        case "_all_docs" where request.path.count == 2:
            try allow(request, "GET", "HEAD")
            try await allDocuments(exchange, database)
        case "_changes" where request.path.count == 2:
            try allow(request, "GET", "HEAD")
            try await changes(exchange, database)
        case "_bulk_docs" where request.path.count == 2:
            try allow(request, "POST")
            try await bulkDocuments(exchange, database)
        case "_ensure_full_commit" where request.path.count == 2:
            try allow(request, "POST")
            exchange.respond(HTTPAnswer(201, JSONValue(object: [("ok", true)])))
        case "_compact" where request.path.count == 2:
            try allow(request, "POST")
            try await compact(exchange, database)
        case "_backup" where request.path.count == 2:
            try allow(request, "POST")
            try await backup(exchange, database)
        case "_design" where request.path.count == 3:
            try await document(exchange, database, try DocumentID("_design/" + request.path[2]))
        case _ where endpoint.hasPrefix("_"):
            throw KithError(.notImplemented, "there is no endpoint /\(name)/\(endpoint.prefix(100)) here")
        default:
            guard request.path.count == 2 else {
                throw KithError(
                    .notImplemented, "attachments are not served yet",
                    remedy: "A slash within a document's ID is written %2F")
            }
            try await document(exchange, database, try DocumentID(endpoint))
        }
    }

    private func databaseItself(_ exchange: RESTExchange, _ name: DatabaseName) async throws {
        let request = exchange.request
        try allow(request, "GET", "HEAD", "PUT", "DELETE")
        switch request.method {
        case "PUT":
            try await node.createDatabase(name)
            exchange.respond(
                HTTPAnswer(
                    201, JSONValue(object: [("ok", true)]),
                    headers: [("Location", "/" + HTTPTarget.percentEncoded(name.text))]))
        case "DELETE":
            try await node.deleteDatabase(name)
            exchange.respond(HTTPAnswer(200, JSONValue(object: [("ok", true)])))
        default:
            let database = try node.registry.database(name)
            let size = Int64(database.database.sizeOnDisk)
            let publicID = database.database.publicID
            let answer = try await database.read { snapshot in
                (
                    documents: try snapshot.documentCount, sequence: try snapshot.lastSequence,
                    conflicts: try snapshot.conflictCount
                )
            }
            exchange.respond(
                HTTPAnswer(
                    200,
                    JSONValue(object: [
                        ("db_name", .string(name.text)), ("doc_count", JSONValue(Int64(answer.documents))),
                        ("update_seq", JSONValue(Int64(clamping: answer.sequence))),
                        ("sizes", JSONValue(object: [("file", JSONValue(size))])),
                        ("conflicts", JSONValue(Int64(answer.conflicts))), ("uuid", .string(publicID)),
                    ])))
        }
    }

    private func conflicts(_ exchange: RESTExchange, _ database: OpenDatabase) async throws {
        let limit = try exchange.request.integer("limit") ?? 100
        let start = try exchange.request.key("startkey").map { text throws(KithError) in try DocumentID(text) }
        let (total, found) = try await database.read { snapshot in
            (try snapshot.conflictCount, try snapshot.conflicts(limit: min(limit, 10_000), startingAfter: start))
        }
        var failures: [DocumentID: KithError] = [:]
        for failure in await database.resolver.failures where failure.collection == .default {
            failures[failure.id] = failure.error
        }
        let rows = found.map { change in
            JSONValue(object: [
                ("id", .string(change.id.text)), ("problem", JSONValue(optional: failures[change.id]?.message)),
                (
                    "leaves",
                    .array(
                        change.leaves.map {
                            JSONValue(object: [
                                ("rev", .string($0.revision.description)), ("deleted", .bool($0.isDeleted)),
                            ])
                        })
                ),
            ])
        }
        exchange.respond(
            HTTPAnswer(200, JSONValue(object: [("total", JSONValue(Int64(total))), ("rows", .array(rows))])))
    }
}
