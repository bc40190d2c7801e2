/// A user and a password. Neither is shown when it is printed.
public struct HTTPCredentials: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The user.
    public let user: String
    /// The password.
    public let password: String

    /// A user and a password.
    public init(user: String, password: String) {
        self.user = user
        self.password = password
    }

    /// Nothing of it.
    public var description: String { "(credentials)" }
    /// Nothing of it.
    public var debugDescription: String { description }
    /// Nothing of it.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
