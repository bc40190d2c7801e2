import KithDocuments
import KithStore
import KithTransport

extension RESTRouter {
    /// `/DATABASE/_settings`: what a database is set to. `PUT` changes those members that the body has.
    func settings(_ exchange: RESTExchange, _ database: OpenDatabase) async throws {
        guard exchange.request.method == "PUT" else {
            let settings = try await database.read { try $0.settings() }
            return exchange.respond(HTTPAnswer(200, Self.json(settings)))
        }
        let changes = try Self.changes(exchange.request.body)
        let settings = try await database.setSettings { settings in for change in changes { change(&settings) } }
        node.log("database \(database.name) was set to \(Self.json(settings).canonicalText())")
        node.statusChanged()
        exchange.respond(HTTPAnswer(200, Self.json(settings)))
    }

    /// - Throws: `.badRequest`, naming the member that is not known or has a wrong value.
    private static func changes(_ body: [UInt8]) throws -> [@Sendable (inout DatabaseSettings) -> Void] {
        guard let members = try JSONValue(parsing: body).objectValue else {
            throw KithError(.badRequest, "the body must be a JSON object")
        }
        return try members.map { name, value throws(KithError) in
            switch name {
            case "merge":
                guard let policy = value.stringValue.flatMap(MergePolicy.init) else {
                    throw KithError(
                        .badRequest,
                        "merge must be one of: \(MergePolicy.allCases.map(\.rawValue).joined(separator: ", "))"
                    )
                }
                return { $0.mergePolicy = policy }
            case "revs_limit":
                guard let limit = value.int64Value.flatMap({ Int(exactly: $0) }) else {
                    throw KithError(.badRequest, "revs_limit must be a whole number")
                }
                return { $0.revisionsLimit = limit }
            case "keep_old_bodies":
                guard let keeps = value.boolValue else {
                    throw KithError(.badRequest, "keep_old_bodies must be true or false")
                }
                return { $0.keepsOldBodies = keeps }
            default:
                throw KithError(
                    .badRequest, "there is no setting \"\(name.prefix(100))\"",
                    remedy: "There are merge, revs_limit and keep_old_bodies")
            }
        }
    }

    private static func json(_ settings: DatabaseSettings) -> JSONValue {
        JSONValue(object: [
            ("merge", .string(settings.mergePolicy.rawValue)), ("revs_limit", JSONValue(settings.revisionsLimit)),
            ("keep_old_bodies", .bool(settings.keepsOldBodies)),
        ])
    }
}
