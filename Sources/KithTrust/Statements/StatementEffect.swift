/// What has changed because of a statement that counts.
public enum StatementEffect: Sendable, Hashable {
    /// A peer is no longer trusted; the peer as it is in the book now.
    case revoked(Peer)
    /// A peer has said that this node is revoked; the name of the peer.
    case ownRevocation(by: String)
    /// A peer goes on under another key; the peer as it was, and as it is now.
    case rotated(from: Peer, to: Peer)
    /// A key of a peer has signed two successors; the first was followed.
    case twoSuccessors(Peer, other: NodeID)
    /// A peer has revoked another, and that was not followed, since the other one has revoked it first.
    case unheeded(Peer, by: Peer)
    /// This node's own key has signed a successor that is not this node: somebody else has the key.
    case ownKeyReplaced(by: NodeID)

    /// Whether nothing has changed, and a person should know all the same.
    var isWarning: Bool {
        switch self {
        case .twoSuccessors, .unheeded, .ownKeyReplaced: true
        case .revoked, .ownRevocation, .rotated: false
        }
    }
}
