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
        // Sync Gateway's place for it. Nothing is looked up: strangers may ask.
        if endpoint == "_session", request.path.count == 2 { return try await session(exchange) }
        if ["_check", "_settings", "_compact", "_backup"].contains(endpoint), request.path.count == 2 {
            guard name.collection == .default else {
                throw KithError(
                    .badRequest, "\(endpoint) is about a database and not about one of its collections",
                    remedy: "Use /\(name.database)/\(endpoint)")
            }
            return try await wholeDatabase(exchange, name.database, endpoint)
        }
        let keyspace = Keyspace(database: try node.registry.database(name.database), collection: name.collection)
        if endpoint.hasPrefix("_") { return try await special(exchange, keyspace, name, endpoint) }
        guard request.path.count > 2 else { return try await document(exchange, keyspace, endpoint) }
        try await attachment(exchange, keyspace, endpoint, request.path[2...].joined(separator: "/"))
    }

    /// Documents whose IDs begin with `_`, and what is no document.
    private func special(
        _ exchange: RESTExchange, _ keyspace: Keyspace, _ name: KeyspaceName, _ endpoint: String
    ) async throws {
        let request = exchange.request
        let path = request.path
        if endpoint.hasPrefix("_local/") || (endpoint == "_local" && path.count > 2) {
            let rest = endpoint == "_local" ? path[2...].joined(separator: "/") : String(endpoint.dropFirst(7))
            guard endpoint == "_local" || path.count == 2 else {
                throw KithError(.badRequest, "a local document has no attachments")
            }
            await exchange.parseLongBody()
            return try await localDocument(exchange, keyspace, rest)
        }
        if endpoint.hasPrefix("_design/") || (endpoint == "_design" && path.count > 2) {
            let isApart = endpoint == "_design"
            let id = isApart ? "_design/" + path[2] : endpoint
            let rest = path.dropFirst(isApart ? 3 : 2)
            guard let first = rest.first else { return try await document(exchange, keyspace, id) }
            guard !first.hasPrefix("_") else {
                throw CouchDBError.notServed(
                    "\(first.prefix(100)) of a design document is not served here: it is stored, and nothing in it is run",
                    "Use _find")
            }
            return try await attachment(exchange, keyspace, id, rest.joined(separator: "/"))
        }
        // Documents of `_bulk_docs` are read each on its own.
        if endpoint != "_bulk_docs" { await exchange.parseLongBody() }
        if endpoint == "_index" { return try await indexes(exchange, keyspace) }
        if try await syncGateway(exchange, keyspace, endpoint) { return }
        guard path.count == 2 else {
            throw CouchDBError.notServed("there is no endpoint below /\(name)/\(endpoint.prefix(100)) here")
        }
        if try await listEndpoint(exchange, keyspace, name, endpoint) { return }
        if try await databaseEndpoint(exchange, keyspace, name, endpoint) { return }
        switch endpoint {
        case "_changes_feed", "_design_info", "_nouveau_cleanup", "_partition", "_purged_infos", "_purged_infos_limit",
            "_rewrite", "_search_cleanup", "_shards", "_sync_shards", "_temp_view", "_view", "_auto_purge":
            throw CouchDBError.notServed("\(endpoint) of CouchDB is not served here")
        default:
            throw CouchDBError(
                "illegal_docid", KithError(.badName, "Only reserved document ids may start with underscore."))
        }
    }

    /// Lists of documents, and what is done with many documents at once.
    ///
    /// - Returns: false when there is no such endpoint.
    private func listEndpoint(
        _ exchange: RESTExchange, _ keyspace: Keyspace, _ name: KeyspaceName, _ endpoint: String
    ) async throws -> Bool {
        let request = exchange.request
        switch endpoint {
        case "_all_docs", "_design_docs":
            try allow(request, "GET", "HEAD", "POST")
            try await allDocuments(exchange, keyspace, designDocumentsOnly: endpoint == "_design_docs")
        case "_local_docs":
            try allow(request, "GET", "HEAD")
            try await localDocuments(exchange, keyspace)
        case "_changes":
            try allow(request, "GET", "HEAD", "POST")
            try await changes(exchange, keyspace)
        case "_bulk_docs":
            try allow(request, "POST")
            try await bulkDocuments(exchange, keyspace)
        case "_bulk_get":
            try allow(request, "POST")
            try await bulkGet(exchange, keyspace)
        case "_revs_diff":
            try allow(request, "POST")
            try await revisionsDifference(exchange, keyspace)
        case "_missing_revs":
            try allow(request, "POST")
            try await missingRevisions(exchange, keyspace)
        case "_purge":
            try allow(request, "POST")
            try await purge(exchange, keyspace)
        case "_find":
            try allow(request, "POST")
            try await find(exchange, keyspace)
        case "_explain":
            // CouchDB's has a body, Kith's own an ID.
            try allow(request, "GET", "HEAD", "POST")
            if request.method == "POST" { try explainFind(exchange, name) } else { try await explain(exchange, name) }
        case "_refusals":
            try allow(request, "GET", "HEAD")
            try await refusals(exchange, keyspace)
        case "_conflicts":
            try allow(request, "GET", "HEAD", "POST")
            if request.method == "POST" {
                try await resolve(exchange, keyspace)
            } else {
                try await conflicts(exchange, keyspace)
            }
        default: return false
        }
        return true
    }

    /// What is said of a database or done with it.
    ///
    /// - Returns: false when there is no such endpoint.
    private func databaseEndpoint(
        _ exchange: RESTExchange, _ keyspace: Keyspace, _ name: KeyspaceName, _ endpoint: String
    ) async throws -> Bool {
        let request = exchange.request
        switch endpoint {
        case "_digest":
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
        case "_sync":
            try allow(request, "POST")
            guard name.collection == .default else {
                throw KithError(
                    .badRequest, "_sync is about a database and not about one of its collections",
                    remedy: "Use /\(name.database)/_sync")
            }
            try await sync(exchange, name.database)
        case "_ensure_full_commit":
            try allow(request, "POST")
            exchange.respond(HTTPAnswer(201, JSONValue(object: [("ok", true), ("instance_start_time", "0")])))
        case "_view_cleanup":
            // There are no views, so there is nothing to clean up.
            try allow(request, "POST")
            exchange.respond(.ok(202))
        case "_security": try await security(exchange, keyspace)
        case "_revs_limit": try await revisionsLimit(exchange, keyspace.database)
        default: return false
        }
        return true
    }

    private func databaseItself(_ exchange: RESTExchange, _ name: DatabaseName) async throws {
        let request = exchange.request
        try allow(request, "GET", "HEAD", "PUT", "DELETE", "POST")
        switch request.method {
        case "PUT":
            try await node.createDatabase(name)
            exchange.respond(
                HTTPAnswer(
                    201, JSONValue(object: [("ok", true)]), headers: [("Location", request.location([name.text]))]))
        case "DELETE":
            guard request.query["rev"] == nil else {
                throw KithError(.badRequest, "a database has no revision; to delete a document, name its ID")
            }
            try await node.deleteDatabase(name)
            exchange.respond(.ok())
        case "POST": try await post(exchange, Keyspace(database: node.registry.database(name), collection: .default))
        default: exchange.respond(HTTPAnswer(200, try await information(try node.registry.database(name))))
        }
    }

    /// `/DATABASE.COLLECTION`.
    private func collectionItself(_ exchange: RESTExchange, _ name: KeyspaceName) async throws {
        let request = exchange.request
        try allow(request, "GET", "HEAD", "PUT", "POST")
        let keyspace = Keyspace(database: try node.registry.database(name.database), collection: name.collection)
        switch request.method {
        case "POST": return try await post(exchange, keyspace)
        case "PUT":
            let isNew = try await keyspace.database.write { transaction in
                if try transaction.hasCollection(name.collection) { return false }
                try transaction.createCollection(name.collection)
                return true
            }
            guard isNew else { throw KithError(.databaseExists, "the collection \(name) is there already") }
            return exchange.respond(
                HTTPAnswer(
                    201, JSONValue(object: [("ok", true)]), headers: [("Location", request.location([name.text]))]))
        default: break
        }
        let answer = try await keyspace.read { snapshot in
            (
                documents: try snapshot.documentCount, deleted: try snapshot.deletedCount,
                sequence: try snapshot.lastSequence, conflicts: try snapshot.conflictCount
            )
        }
        exchange.respond(
            HTTPAnswer(
                200,
                JSONValue(
                    object: [
                        ("db_name", .string(name.text)), ("doc_count", JSONValue(Int64(answer.documents))),
                        ("doc_del_count", JSONValue(Int64(answer.deleted))),
                        ("update_seq", JSONValue(Int64(clamping: answer.sequence))),
                        ("conflicts", JSONValue(Int64(answer.conflicts))),
                    ] + Self.constantInformation)))
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
