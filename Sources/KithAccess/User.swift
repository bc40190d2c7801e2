import KithDocuments

/// Somebody who can log in with a name and a password.
public struct User: Hashable, Sendable {
    /// What is typed at a login; see `AccessName`.
    public let name: String
    /// In the order of their bytes, each once.
    public private(set) var roles: [String]
    /// Whether logins are refused for now.
    public var isDisabled: Bool
    /// What is kept of the password.
    public var password: PasswordHash

    /// Makes a user.
    ///
    /// - Throws: `.badName` for a name or a role that cannot be one, `.tooLarge` for too many roles.
    public init(
        name: String, roles: [String] = [], isDisabled: Bool = false, password: PasswordHash
    ) throws(KithError) {
        try AccessName.check(user: name)
        self.name = name
        self.roles = try Self.checked(roles)
        self.isDisabled = isDisabled
        self.password = password
    }

    /// Gives the user these roles and no others.
    ///
    /// - Throws: as `init`; then nothing has changed.
    public mutating func setRoles(_ roles: [String]) throws(KithError) { self.roles = try Self.checked(roles) }

    /// Who the user is to what decides about rights.
    public var principal: Principal { Principal(name: name, roles: roles) }

    private static func checked(_ roles: [String]) throws(KithError) -> [String] {
        for role in roles { try AccessName.check(role: role) }
        var sorted: [String] = []
        for role in roles.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) })
        where sorted.last.map({ !AccessName.equal($0, role) }) ?? true {
            sorted.append(role)
        }
        guard sorted.count <= AccessLimits.rolesMax else {
            throw KithError(.tooLarge, "a user has at most \(AccessLimits.rolesMax) roles")
        }
        return sorted
    }
}
