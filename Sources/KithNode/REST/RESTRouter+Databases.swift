import KithDocuments
import KithStore
import KithTransport
import KithWire

extension RESTRouter {
    /// Everything under `/DATABASE`, which is the collection `_default`, and under `/DATABASE.COLLECTION`.
    func database(_ exchange: RESTExchange, _ name: KeyspaceName) async throws {
        let request = exchange.request
        guard request.path.count > 1 else {
            return name.collection == .default
                ? try await databaseItself(exchange, name.database) : try await collectionItself(exchange, name)
        }
        let endpoint = request.path[1]
        if ["_check", "_settings", "_compact", "_backup"].contains(endpoint), request.path.count == 2 {
            guard name.collection == .default else {
                throw KithError(
                    .badRequest, "\(endpoint) is about a database and not about one of its collections",
                    remedy: "Use /\(name.database)/\(endpoint)")
            }
            return try await wholeDatabase(exchange, name.database, endpoint)
        }
        let keyspace = Keyspace(database: try node.registry.database(name.database), collection: name.collection)
        switch endpoint {
        case "_digest" where request.path.count == 2:
            try allow(request, "GET", "HEAD")
            let (digest, sequence) = try await keyspace.read { (try $0.digest(), try $0.lastSequence) }
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
        case "_sync" where request.path.count == 2:
            try allow(request, "POST")
            guard name.collection == .default else {
                throw KithError(
                    .badRequest, "_sync is about a database and not about one of its collections",
                    remedy: "Use /\(name.database)/_sync")
            }
            try await sync(exchange, name.database)
        case "_explain" where request.path.count == 2:
            try allow(request, "GET", "HEAD")
            try await explain(exchange, name)
        case "_refusals" where request.path.count == 2:
            try allow(request, "GET", "HEAD")
            try await refusals(exchange, keyspace)
        case "_conflicts" where request.path.count == 2:
            try allow(request, "GET", "HEAD", "POST")
            if request.method == "POST" { return try await resolve(exchange, keyspace) }
            try await conflicts(exchange, keyspace)
        case "_all_docs" where request.path.count == 2:
            try allow(request, "GET", "HEAD")
            try await allDocuments(exchange, keyspace)
        case "_changes" where request.path.count == 2:
            try allow(request, "GET", "HEAD")
            try await changes(exchange, keyspace)
        case "_bulk_docs" where request.path.count == 2:
            try allow(request, "POST")
            try await bulkDocuments(exchange, keyspace)
        case "_ensure_full_commit" where request.path.count == 2:
            try allow(request, "POST")
            exchange.respond(HTTPAnswer(201, JSONValue(object: [("ok", true)])))
        case "_design" where request.path.count == 3:
            try await document(exchange, keyspace, try DocumentID("_design/" + request.path[2]))
        case _ where endpoint.hasPrefix("_"):
            throw KithError(.notImplemented, "there is no endpoint /\(name)/\(endpoint.prefix(100)) here")
        default:
            guard request.path.count == 2 else {
                throw KithError(
                    .notImplemented, "attachments are not served yet",
                    remedy: "A slash within a document's ID is written %2F")
            }
            try await document(exchange, keyspace, try DocumentID(endpoint))
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
                (collections: try CollectionCounts.all(snapshot), sequence: try snapshot.lastSequence)
            }
            let own = answer.collections[0]
            let named = answer.collections.dropFirst().map { collection in
                JSONValue(object: [
                    ("name", .string(collection.name.description)),
                    ("doc_count", JSONValue(Int64(collection.documents))),
                    ("conflicts", JSONValue(Int64(collection.conflicts))),
                ])
            }
            exchange.respond(
                HTTPAnswer(
                    200,
                    JSONValue(object: [
                        ("db_name", .string(name.text)), ("doc_count", JSONValue(Int64(own.documents))),
                        ("update_seq", JSONValue(Int64(clamping: answer.sequence))),
                        ("sizes", JSONValue(object: [("file", JSONValue(size))])),
                        ("conflicts", JSONValue(Int64(own.conflicts))), ("uuid", .string(publicID)),
                        ("collections", .array(named)),
                    ])))
        }
    }

    /// `/DATABASE.COLLECTION`.
    private func collectionItself(_ exchange: RESTExchange, _ name: KeyspaceName) async throws {
        let request = exchange.request
        try allow(request, "GET", "HEAD", "PUT")
        let keyspace = Keyspace(database: try node.registry.database(name.database), collection: name.collection)
        if request.method == "PUT" {
            let isNew = try await keyspace.database.write { transaction in
                if try transaction.hasCollection(name.collection) { return false }
                try transaction.createCollection(name.collection)
                return true
            }
            guard isNew else { throw KithError(.databaseExists, "the collection \(name) is there already") }
            exchange.respond(
                HTTPAnswer(
                    201, JSONValue(object: [("ok", true)]),
                    headers: [("Location", "/" + HTTPTarget.percentEncoded(name.text))]))
            return
        }
        let answer = try await keyspace.read { snapshot in
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
                    ("conflicts", JSONValue(Int64(answer.conflicts))),
                ])))
    }

    /// What is done with a database and all its collections.
    private func wholeDatabase(_ exchange: RESTExchange, _ name: DatabaseName, _ endpoint: String) async throws {
        let isSettings = endpoint == "_settings"
        try isSettings ? allow(exchange.request, "GET", "HEAD", "PUT") : allow(exchange.request, "POST")
        // A check also looks at one that cannot be opened.
        if endpoint == "_check" { return try await check(exchange, name) }
        let database = try node.registry.database(name)
        switch endpoint {
        case "_settings": try await settings(exchange, database)
        case "_compact": try await compact(exchange, database)
        default: try await backup(exchange, database)
        }
    }

    private func conflicts(_ exchange: RESTExchange, _ keyspace: Keyspace) async throws {
        let limit = try exchange.request.integer("limit") ?? 100
        let start = try exchange.request.key("startkey").map { text throws(KithError) in try DocumentID(text) }
        let (total, found) = try await keyspace.read { snapshot in
            (try snapshot.conflictCount, try snapshot.conflicts(limit: min(limit, 10_000), startingAfter: start))
        }
        var failures: [DocumentID: KithError] = [:]
        for failure in await keyspace.database.resolver.failures where failure.collection == keyspace.collection {
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
