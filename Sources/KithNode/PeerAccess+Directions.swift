import KithReplication
import KithTrust

extension PeerAccess {
    /// What this node allows on a link with the peer.
    var directions: ReplicationDirections {
        switch self {
        case .both: .both
        case .read: .send
        case .write: .receive
        case .noAccess: []
        }
    }
}
