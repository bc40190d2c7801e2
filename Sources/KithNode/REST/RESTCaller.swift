import KithAccess
import KithTrust

/// Who makes a request.
enum RESTCaller: Sendable, Equatable {
    /// Who can open the socket in the home, which only its owner can.
    case owner
    /// Who holds the node's own key, and has proved it in the TLS handshake.
    case ownKey
    /// A paired node, which has proved its key: it does what it was given, and nothing else.
    case peer(NodeID)
    /// A user who has logged in, with the roles that he has now; on the network also who holds the node's own key.
    case user(Principal)
    /// Nobody knows, where guests are let in.
    case guest
    /// Nobody knows.
    case nobody

    /// Whether it is the owner of the node, who may do everything wherever he comes in.
    var isOwner: Bool { self == .owner || self == .ownKey }

    /// Whether it is not known who it is.
    var isUnknown: Bool { self == .guest || self == .nobody }

    /// What rights hang on where it is neither the owner nor a peer.
    var principal: Principal {
        if case .user(let principal) = self { return principal }
        return .guest
    }
}
