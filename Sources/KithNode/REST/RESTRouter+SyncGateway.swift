import KithAccess
import KithDocuments
import KithTransport

/// What Sync Gateway has beside CouchDB's endpoints: users and roles below a database, and the configuration to read. Users
/// are the node's: the same below each of its databases.
extension RESTRouter {
    /// - Returns: false when there is no such endpoint.
    func syncGateway(_ exchange: RESTExchange, _ keyspace: Keyspace, _ endpoint: String) async throws -> Bool {
        let path = exchange.request.path
        switch endpoint {
        case "_user" where path.count == 2: try await syncGatewayUsers(exchange)
        case "_user" where path.count == 3: try await syncGatewayUser(exchange, path[2])
        case "_role" where path.count <= 3: try syncGatewayRoles(exchange, path.dropFirst(2).first)
        case "_config" where path.count == 2:
            try allow(exchange.request, "GET", "HEAD")
            let settings = try await keyspace.database.read { try $0.settings() }
            exchange.respond(
                HTTPAnswer(
                    200,
                    JSONValue(object: [
                        ("name", .string(keyspace.database.name.text)), ("allow_conflicts", true),
                        ("revs_limit", JSONValue(settings.revisionsLimit)), ("guest", guestConfiguration),
                    ])))
        default: return false
        }
        return true
    }

    /// `/_config`: what `config.json` says, and what it was started with.
    func configuration(_ exchange: RESTExchange) throws {
        try allow(exchange.request, "GET", "HEAD")
        let databases = node.registry.all.map { ($0.name.text, JSONValue(object: [("guest", guestConfiguration)])) }
        exchange.respond(
            HTTPAnswer(
                200,
                JSONValue(object: [
                    ("name", .string(node.name)), ("port", JSONValue(Int64(node.port))),
                    ("administrationPort", JSONValue(optional: node.administrationPort.map { Int($0) })),
                    ("rest", node.publicREST.json), ("databases", JSONValue(object: databases)),
                ])))
    }

    private var guestConfiguration: JSONValue {
        let isDisabled = !node.publicREST.isOn || !node.publicREST.letsGuestsIn
        return JSONValue(object: [("disabled", .bool(isDisabled))])
    }

    private func syncGatewayUsers(_ exchange: RESTExchange) async throws {
        try allow(exchange.request, "GET", "HEAD", "POST")
        guard exchange.request.method == "POST" else {
            return exchange.respond(HTTPAnswer(200, .array(node.home.userBook.users.map { .string($0.name) })))
        }
        let (name, change) = try UserChange.ofSyncGateway(exchange.request.jsonObject())
        guard let name else { throw KithError(.badRequest, "name must be in the body") }
        _ = try await self.change(name, change, .new, exchange)
        exchange.respond(.ok(201))
    }

    private func syncGatewayUser(_ exchange: RESTExchange, _ name: String) async throws {
        let request = exchange.request
        try allow(request, "GET", "HEAD", "PUT", "DELETE")
        switch request.method {
        case "PUT":
            let (given, change) = try UserChange.ofSyncGateway(request.jsonObject())
            guard given == nil || given.map({ $0.utf8.elementsEqual(name.utf8) }) == true else {
                throw KithError(.badRequest, "the name in the body is not that of the path")
            }
            let (_, isNew) = try await self.change(name, change, nil, exchange)
            exchange.respond(.ok(isNew ? 201 : 200))
        case "DELETE": try removeUser(exchange, name)
        default:
            guard let user = node.home.userBook.user(named: name) else { throw Self.noUser(name) }
            let roles = JSONValue.array(user.roles.map { .string($0) })
            exchange.respond(
                HTTPAnswer(
                    200,
                    JSONValue(object: [
                        ("name", .string(user.name)), ("admin_channels", []), ("all_channels", []),
                        ("admin_roles", roles), ("roles", roles), ("disabled", .bool(user.isDisabled)),
                    ])))
        }
    }

    private func syncGatewayRoles(_ exchange: RESTExchange, _ name: String?) throws {
        guard ["GET", "HEAD"].contains(exchange.request.method) else {
            throw CouchDBError.notServed(
                "a role is there while a user has it, and is not made apart", "Give it to a user, in admin_roles")
        }
        let roles = Set(node.home.userBook.users.flatMap(\.roles).map { Array($0.utf8) })
        guard let name else {
            let sorted = roles.sorted { $0.lexicographicallyPrecedes($1) }
            let texts = sorted.map { JSONValue.string(String(decoding: $0, as: UTF8.self)) }
            return exchange.respond(HTTPAnswer(200, .array(texts)))
        }
        guard roles.contains(Array(name.utf8)) else { throw KithError(.notFound, "no user has this role") }
        exchange.respond(
            HTTPAnswer(
                200, JSONValue(object: [("name", .string(name)), ("admin_channels", []), ("all_channels", [])])))
    }
}
