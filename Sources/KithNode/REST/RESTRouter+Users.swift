import KithAccess
import KithDocuments
import KithTransport

extension RESTRouter {
    /// `/_kith/users` and `/_kith/users/NAME`: who can log in. `PUT` makes a user or changes what the body names; with `only=new` or
    /// `only=existing` it does one of the two.
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
            let only: Only? =
                switch request.query["only"] {
                case nil: nil
                case "new"?: .new
                case "existing"?: .existing
                default: throw KithError(.badRequest, "only must be new or existing")
                }
            let (user, isNew) = try await change(name, try UserChange(request.jsonObject()), only, exchange)
            exchange.respond(HTTPAnswer(isNew ? 201 : 200, Self.json(user)))
        case "DELETE": try removeUser(exchange, name)
        default:
            guard let user = book.user(named: name) else { throw Self.noUser(name) }
            exchange.respond(HTTPAnswer(200, Self.json(user)))
        }
    }

    /// What a change of a user is, where it is not both.
    enum Only: Sendable { case new, existing }

    /// Makes a user, or changes one; the password is hashed where all wait for it.
    ///
    /// - Parameter only: what it must be: while a password is typed and hashed, the user may come or go.
    /// - Returns: the user as it is now, and whether it is new.
    func change(
        _ name: String, _ change: UserChange, _ only: Only?, _ exchange: RESTExchange
    ) async throws -> (user: User, isNew: Bool) {
        // What cannot be a name costs no hashing.
        try AccessName.check(user: name)
        let book = node.home.userBook
        try Self.check(only, name, isThere: book.user(named: name) != nil)
        var hash: PasswordHash?
        if let password = change.password {
            hash = try await node.access.logins.queue.run(
                for: exchange.caller.isOwner ? nil : exchange.place.host,
                work: { try PasswordHash(password: password) })
            try exchange.revocation.check()
        } else if book.user(named: name) == nil {
            throw KithError(.badRequest, "a new user needs a password")
        }
        // Hashed outside of the lock: somebody else may have made or removed the user meanwhile.
        let (user, isNew) = try book.update { [hash] list throws(KithError) -> (User, Bool) in
            var user: User
            let before = list.user(named: name)
            try Self.check(only, name, isThere: before != nil)
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

    private static func check(_ only: Only?, _ name: String, isThere: Bool) throws(KithError) {
        if only == .new, isThere { throw KithError(.conflict, "there is a user of this name already") }
        if only == .existing, !isThere { throw noUser(name) }
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
