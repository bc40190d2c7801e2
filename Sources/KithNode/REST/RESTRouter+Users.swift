import KithAccess
import KithDocuments
import KithTransport

extension RESTRouter {
    /// `/_kith/users` and `/_kith/users/NAME`: who can log in. `PUT` makes a user or changes what the body names.
    func users(_ exchange: RESTExchange, name: String?) async throws {
        let request = exchange.request
        let book = node.home.userBook
        guard let name else {
            try allow(request, "GET", "HEAD")
            let users: JSONValue = .array(book.users.map(Self.json))
            return exchange.respond(HTTPAnswer(200, JSONValue(object: [("users", users)])))
        }
        try allow(request, "GET", "HEAD", "PUT", "DELETE")
        switch request.method {
        case "PUT":
            let (user, isNew) = try await change(name, try UserChange(request.jsonObject()), exchange)
            exchange.respond(HTTPAnswer(isNew ? 201 : 200, Self.json(user)))
        case "DELETE": try removeUser(exchange, name)
        default:
            guard let user = book.user(named: name) else { throw Self.noUser(name) }
            exchange.respond(HTTPAnswer(200, Self.json(user)))
        }
    }

    /// Makes a user, or changes one; the password is hashed beside the event loop.
    ///
    /// - Returns: the user as it is now, and whether it is new.
    func change(
        _ name: String, _ change: UserChange, _ exchange: RESTExchange
    ) async throws -> (user: User, isNew: Bool) {
        // What cannot be a name costs no hashing.
        try AccessName.check(user: name)
        let book = node.home.userBook
        var hash: PasswordHash?
        if let password = change.password {
            hash = try await EventLoop.beside { try PasswordHash(password: password) }
        } else if book.user(named: name) == nil {
            throw KithError(.badRequest, "a new user needs a password")
        }
        // Hashed outside of the lock: somebody else may have made or removed the user meanwhile.
        let (user, isNew) = try book.update { [hash] list throws(KithError) -> (User, Bool) in
            var user: User
            let before = list.user(named: name)
            if let before {
                user = before
            } else if let hash {
                user = try User(name: name, password: hash)
            } else {
                throw Self.noUser(name)
            }
            if let hash { user.password = hash }
            if let roles = change.roles { try user.setRoles(roles) }
            if let isDisabled = change.isDisabled { user.isDisabled = isDisabled }
            try list.put(user)
            return (user, before == nil)
        }
        node.log("user \(name) was \(isNew ? "added" : "changed")")
        node.rightsChanged(by: exchange)
        return (user, isNew)
    }

    func removeUser(_ exchange: RESTExchange, _ name: String) throws {
        guard try node.home.userBook.update({ list throws(KithError) in list.remove(name) }) != nil else {
            throw Self.noUser(name)
        }
        node.log("user \(name) was removed")
        node.rightsChanged(by: exchange)
        exchange.respond(.ok())
    }

    static func noUser(_ name: String) -> KithError {
        KithError(.notFound, "there is no user \(name.prefix(AccessLimits.nameBytesMax))")
    }

    /// Never with the password or its hash.
    private static func json(_ user: User) -> JSONValue {
        JSONValue(object: [
            ("name", .string(user.name)), ("roles", .array(user.roles.map { .string($0) })),
            ("disabled", .bool(user.isDisabled)),
        ])
    }
}
