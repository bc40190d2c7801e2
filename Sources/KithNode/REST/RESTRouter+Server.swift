import KithDocuments
import KithStore
import KithTransport

/// What CouchDB has beside databases.
extension RESTRouter {
    /// The version of CouchDB whose interface is spoken here, for clients that ask.
    private static let couchDBVersion = "3.5.0"

    func welcome(_ exchange: RESTExchange) throws {
        try allow(exchange.request, "GET", "HEAD")
        exchange.respond(
            HTTPAnswer(
                200,
                JSONValue(object: [
                    ("couchdb", "Welcome"), ("version", .string(Self.couchDBVersion)),
                    ("uuid", .string(nodeUUID)), ("features", []),
                    ("vendor", JSONValue(object: [("name", "Kith"), ("version", .string(Node.version))])),
                ])))
    }

    /// The node's ID in the form that CouchDB gives its own.
    private var nodeUUID: String {
        String(node.home.identity.nodeID.description.filter { $0 != "-" }.prefix(32)).lowercased()
    }

    var nodeName: String { "kith@" + node.home.identity.nodeID.short.lowercased() }

    /// Everything under a name that begins with `_`.
    func server(_ exchange: RESTExchange, _ endpoint: String) async throws {
        let request = exchange.request
        switch endpoint {
        case "_kith": return try await kith(exchange)
        case "_replicate" where request.path.count == 1: return try await replicate(exchange)
        case "_replicator": return try await replicator(exchange)
        case "_users":
            throw CouchDBError.notServed("users are no documents here", "Use kith users or /_kith/users")
        default: break
        }
        if endpoint == "_node" || endpoint == "_scheduler" || endpoint == "_cluster_setup" {
            return try cluster(exchange, endpoint)
        }
        guard request.path.count == 1 else { throw KithError(.notFound, "there is no such endpoint") }
        switch endpoint {
        case "_up":
            try allow(request, "GET", "HEAD")
            exchange.respond(HTTPAnswer(200, JSONValue(object: [("status", "ok"), ("seeds", [:])])))
        case "_all_dbs":
            try allow(request, "GET", "HEAD")
            try allDatabases(exchange)
        case "_dbs_info":
            try allow(request, "GET", "HEAD", "POST")
            try await databasesInformation(exchange)
        case "_uuids":
            try allow(request, "GET", "HEAD")
            let count = try request.integer("count", in: 0...NodeLimits.uuidsMax) ?? 1
            let ids = (0..<count).map { _ in JSONValue.string(RESTDocument.newID()) }
            exchange.respond(HTTPAnswer(200, JSONValue(object: [("uuids", .array(ids))])))
        case "_session": try await session(exchange)
        case "_active_tasks":
            try allow(request, "GET", "HEAD")
            let tasks = node.registry.all.filter(\.isCompacting).map { database in
                JSONValue(object: [
                    ("type", "database_compaction"), ("database", .string(database.name.text)),
                    ("node", .string(nodeName)),
                ])
            }
            exchange.respond(HTTPAnswer(200, .array(tasks + replicationTasks)))
        case "_membership":
            try allow(request, "GET", "HEAD")
            let names: JSONValue = .array([.string(nodeName)])
            exchange.respond(HTTPAnswer(200, JSONValue(object: [("all_nodes", names), ("cluster_nodes", names)])))
        case "_config": try configuration(exchange)
        case "_db_updates", "_global_changes", "_log", "_metrics", "_prometheus", "_reshard", "_restart",
            "_search_analyze", "_nouveau_analyze", "_stats", "_system", "_utils":
            throw CouchDBError.notServed("\(endpoint) of CouchDB is not served here")
        default:
            throw CouchDBError(
                "illegal_database_name",
                KithError(.badName, "a database's name does not begin with _, and there is no such endpoint"))
        }
    }

    private func allDatabases(_ exchange: RESTExchange) throws {
        let request = exchange.request
        var names = node.registry.all.map(\.name.text)
        let isDescending = try request.flag("descending")
        if isDescending { names.reverse() }
        func comesBefore(_ one: String, _ other: String) -> Bool {
            isDescending
                ? other.utf8.lexicographicallyPrecedes(one.utf8) : one.utf8.lexicographicallyPrecedes(other.utf8)
        }
        let includesEnd = try request.optionalFlag("inclusive_end") ?? true
        if let start = try request.key("startkey") ?? request.key("start_key") {
            names.removeAll { comesBefore($0, start) }
        }
        if let end = try request.key("endkey") ?? request.key("end_key") {
            names.removeAll { comesBefore(end, $0) || (!includesEnd && $0.utf8.elementsEqual(end.utf8)) }
        }
        let shown = names.dropFirst(try request.integer("skip") ?? 0).prefix(try request.integer("limit") ?? .max)
        exchange.respond(HTTPAnswer(200, .array(shown.map { .string($0) })))
    }

    private func databasesInformation(_ exchange: RESTExchange) async throws {
        var names = node.registry.all.map(\.name.text)
        if exchange.request.method == "POST" {
            guard let keys = try exchange.request.jsonObject()["keys"]?.arrayValue else {
                throw KithError(.badRequest, "`keys` member must exist")
            }
            guard keys.count <= NodeLimits.databasesMax else {
                throw KithError(.badRequest, "`keys` has more than \(NodeLimits.databasesMax) names")
            }
            names = try keys.map { key throws(KithError) in
                guard let name = key.stringValue else { throw KithError(.badRequest, "`keys` must be names") }
                return name
            }
        }
        var rows: [JSONValue] = []
        for name in names {
            guard let databaseName = try? DatabaseName(name), let database = node.registry.find(databaseName) else {
                rows.append(JSONValue(object: [("key", .string(name)), ("error", "not_found")]))
                continue
            }
            let information = try await information(database)
            rows.append(JSONValue(object: [("key", .string(name)), ("info", information)]))
        }
        exchange.respond(HTTPAnswer(200, .array(rows)))
    }

    /// What clients ask a cluster when they begin: this is a single node.
    private func cluster(_ exchange: RESTExchange, _ endpoint: String) throws {
        let request = exchange.request
        switch (endpoint, request.path.dropFirst().first) {
        case ("_cluster_setup", nil):
            try allow(request, "GET", "HEAD")
            exchange.respond(HTTPAnswer(200, JSONValue(object: [("state", "single_node_enabled")])))
        case ("_node", _?) where request.path.count == 2:
            try allow(request, "GET", "HEAD")
            exchange.respond(HTTPAnswer(200, JSONValue(object: [("name", .string(nodeName))])))
        case ("_scheduler", "jobs"?), ("_scheduler", "docs"?):
            try allow(request, "GET", "HEAD")
            let list = request.path[1]
            let rows = list == "jobs" ? scheduledJobs : scheduledDocuments
            exchange.respond(
                HTTPAnswer(
                    200,
                    JSONValue(object: [
                        ("total_rows", JSONValue(rows.count)), ("offset", 0), (list, .array(rows)),
                    ])))
        default: throw CouchDBError.notServed("\(endpoint) of CouchDB is not served here")
        }
    }
}
