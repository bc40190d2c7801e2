import KithAccess

/// Who makes a request.
enum RESTCaller: Sendable, Equatable {
    /// Who can open the socket in the home, which only its owner can.
    case owner
    /// Who holds the node's own key, and has proved it in the TLS handshake.
    case ownKey
    /// A user who has logged in, with the roles that he has now.
    case user(Principal)
    /// Nobody knows.
    case nobody

    /// Whether it is the owner of the node, who may do everything wherever he comes in.
    var isOwner: Bool { self == .owner || self == .ownKey }

    /// What rights hang on where it is not the owner.
    var principal: Principal {
        if case .user(let principal) = self { return principal }
        return .guest
    }
}
