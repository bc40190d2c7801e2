import KithDocuments
import KithTransport

/// `/_replicator`: documents that each ask for a replication.
extension RESTRouter {
    func replicator(_ exchange: RESTExchange) async throws {
        let request = exchange.request
        let path = request.path.dropFirst()
        guard let first = path.first else {
            try allow(request, "GET", "HEAD", "PUT", "POST")
            switch request.method {
            case "PUT": throw KithError(.databaseExists, "The database could not be created, the file already exists.")
            case "POST": return try putReplication(exchange, nil)
            default:
                return exchange.respond(
                    HTTPAnswer(
                        200,
                        JSONValue(object: [
                            ("db_name", "_replicator"), ("doc_count", JSONValue(node.replicator.all.count)),
                        ])))
            }
        }
        guard path.count == 1, first == "_all_docs" || !first.hasPrefix("_") else {
            throw CouchDBError.notServed("this of _replicator is not served here")
        }
        if first == "_all_docs" {
            try allow(request, "GET", "HEAD")
            return try replications(exchange)
        }
        try allow(request, "GET", "HEAD", "PUT", "DELETE")
        switch request.method {
        case "PUT": try putReplication(exchange, first)
        case "DELETE":
            let removed = try node.replicator.remove(first, revision: Self.told(request, nil))
            exchange.respond(Self.replicationAnswer(200, removed.id, removed.revision))
        default: exchange.respond(HTTPAnswer(200, try node.replicator.document(first).shown))
        }
    }

    private func putReplication(_ exchange: RESTExchange, _ id: String?) throws {
        let request = exchange.request
        let members = try request.jsonObject()
        let id = id ?? members["_id"]?.stringValue ?? RESTDocument.newID()
        _ = try naming("illegal_docid") { () throws(KithError) in try DocumentID(id) }
        let written = try node.replicator.put(id, members, revision: Self.told(request, members["_rev"]?.stringValue))
        exchange.respond(Self.replicationAnswer(201, id, written.revision))
    }

    private func replications(_ exchange: RESTExchange) throws {
        let withDocuments = try exchange.request.flag("include_docs")
        let rows = node.replicator.all.map { document in
            var row: [(String, JSONValue)] = [
                ("id", .string(document.id)), ("key", .string(document.id)),
                ("value", JSONValue(object: [("rev", .string(document.revision))])),
            ]
            if withDocuments { row.append(("doc", document.shown)) }
            return JSONValue(object: row)
        }
        exchange.respond(
            HTTPAnswer(
                200,
                JSONValue(object: [
                    ("total_rows", JSONValue(rows.count)), ("offset", 0), ("rows", .array(rows)),
                ])))
    }

    private static func told(_ request: RESTRequest, _ revision: String?) -> String? {
        revision ?? request.query["rev"] ?? request.headers["If-Match"]?.filter { $0 != "\"" }
    }

    private static func replicationAnswer(_ status: Int, _ id: String, _ revision: String) -> HTTPAnswer {
        HTTPAnswer(
            status, JSONValue(object: [("ok", true), ("id", .string(id)), ("rev", .string(revision))]))
    }
}
