/// Who asks, to what decides about rights.
public struct Principal: Hashable, Sendable {
    /// `nil` for somebody who has not logged in.
    public let name: String?
    /// What rights hang on beside the name.
    public let roles: [String]

    /// Somebody of this name with these roles.
    public init(name: String?, roles: [String]) {
        self.name = name
        self.roles = roles
    }

    /// Somebody who has not logged in: `_security` can give something to the role `_guest`, which no user can have.
    public static let guest = Principal(name: nil, roles: [AccessName.guest])

    /// Whether the node itself is administered by this one, with all databases.
    public var isServerAdministrator: Bool { has(AccessName.administrator) }

    func has(_ role: String) -> Bool { roles.contains { AccessName.equal($0, role) } }
}
