import KithAccess
import KithDocuments
import KithTransport
import KithWire

/// `/_session`, as CouchDB has it.
extension RESTRouter {
    func session(_ exchange: RESTExchange) async throws {
        let request = exchange.request
        try allow(request, "GET", "HEAD", "POST", "DELETE")
        switch request.method {
        case "POST": try await logIn(exchange)
        case "DELETE":
            var answer = HTTPAnswer.ok()
            let isForAnother = exchange.passage.isOfAnotherOrigin
            answer.headers.append(("Set-Cookie", RESTLogins.noCookie(isForAnotherOrigin: isForAnother)))
            exchange.respond(answer)
        default:
            let (handler, name, roles) = Self.described(exchange.permit)
            var info: [(String, JSONValue)] = [("authentication_handlers", ["cookie", "default"])]
            if let handler { info.append(("authenticated", .string(handler))) }
            var answer = HTTPAnswer(
                200,
                JSONValue(object: [
                    ("ok", true), ("userCtx", JSONValue(object: [("name", name), ("roles", roles)])),
                    ("info", JSONValue(object: info)),
                ]))
            // Who asks how his session stands has it prolonged.
            if !exchange.caller.isOwner, !exchange.permit.isByPassword, exchange.passage.countsBrowserProof,
                let session = node.access.logins.session(request.headers),
                let cookie = node.access.logins.prolonged(
                    session, isForAnotherOrigin: exchange.passage.isOfAnotherOrigin)
            {
                answer.headers.append(("Set-Cookie", cookie))
            }
            exchange.respond(answer)
        }
    }

    private func logIn(_ exchange: RESTExchange) async throws {
        // A page whose cookies do not count gives its reader none either.
        guard exchange.passage.countsBrowserProof else {
            throw CouchDBError(
                "forbidden",
                KithError(
                    .forbidden, "pages of other origins have no sessions here",
                    remedy: "Use Basic authentication, or let this origin have credentials in config.json"))
        }
        let (name, password) = try Self.login(exchange.request)
        guard let name else {
            // Clients without a name ask as well.
            guard exchange.caller.isOwner else { throw RESTAccess.unauthorized("Name or password is incorrect.") }
            let (_, name, roles) = Self.described(exchange.permit)
            return exchange.respond(
                HTTPAnswer(200, JSONValue(object: [("ok", true), ("name", name), ("roles", roles)])))
        }
        let user = try await node.access.logins.logIn(name, password, place: exchange.place)
        exchange.respond(
            HTTPAnswer(
                200,
                JSONValue(object: [
                    ("ok", true), ("name", .string(user.name)), ("roles", .array(user.roles.map { .string($0) })),
                ]), headers: [cookie(user, exchange)]))
    }

    private func cookie(_ user: User, _ exchange: RESTExchange) -> (name: String, value: String) {
        let isForAnother = exchange.passage.isOfAnotherOrigin
        return ("Set-Cookie", node.access.logins.cookie(for: user, isForAnotherOrigin: isForAnother))
    }

    /// The name and the password of a login, as JSON or as a form.
    private static func login(_ request: RESTRequest) throws -> (name: String?, password: [UInt8]) {
        if request.mediaType?.name == "application/x-www-form-urlencoded" {
            let text = String(decoding: request.body, as: UTF8.self).replacing("+", with: "%20")
            guard let form = HTTPTarget("/?" + text), let name = form[query: "name"],
                let password = form[query: "password"]
            else { throw KithError(.badRequest, "name and password must be in the form") }
            return (name, Array(password.utf8))
        }
        let object = try request.jsonObject()
        guard let name = object["name"], name != .null else { return (nil, []) }
        guard let text = name.stringValue, let password = object["password"]?.stringValue else {
            throw KithError(.badRequest, "name and password must be texts")
        }
        return (text, Array(password.utf8))
    }

    private static func described(_ permit: RESTPermit) -> (handler: String?, name: JSONValue, roles: JSONValue) {
        switch permit.caller {
        case .owner: ("socket", .null, ["_admin"])
        case .ownKey: ("certificate", .null, ["_admin"])
        case .user(let principal):
            (
                principal.name == nil ? "certificate" : permit.isByPassword ? "default" : "cookie",
                JSONValue(optional: principal.name),
                .array(principal.roles.map { .string($0) })
            )
        case .peer: ("certificate", .null, [])
        case .guest, .nobody: (nil, .null, [])
        }
    }
}
