import KithDocuments
import KithWire

// What may travel on a link: what this node allows, less what the peer has said, or shown, that it does not.

extension ReplicationSession {
    /// The property of `getCollections` and of its answer in which a Kith node says which directions are on at its end.
    static let directionProperty = "kith-direction"

    /// What may travel, as far as is known.
    var directions: ReplicationDirections {
        get { standing.directions }
        set {
            guard newValue != standing.directions else { return }
            standing.directions = newValue
            // What may not travel is no backlog of any collection.
            for replicator in replicators { touch(replicator) }
        }
    }

    /// Takes what the peer says of its own directions; one that says nothing has both.
    func learnDirections(_ message: BLIPMessage) {
        guard let text = message.properties[Self.directionProperty],
            let peers = ReplicationDirections(name: text)
        else { return }
        directions.formIntersection(peers.reversed)
    }

    /// Answers a request for a direction that this node does not allow.
    ///
    /// - Returns: whether it was one.
    func refuseDirection(_ message: BLIPMessage, _ profile: String) -> Bool {
        let text: String
        switch profile {
        case "subChanges" where !configuration.directions.contains(.send):
            text = "this node does not let its peer read the database"
        case "changes", "proposeChanges", "rev", "norev":
            guard !configuration.directions.contains(.receive) else { return false }
            text = "this node does not let its peer write to the database"
        default: return false
        }
        replyError(domain: "HTTP", code: 403, text, to: message)
        return true
    }

    /// Whether an answer says that the peer does not allow a direction.
    static func isDirectionRefused(_ error: BLIPMessage.ErrorInfo) -> Bool {
        error.domain == "HTTP" && error.code == 403
    }

    /// The peer does not allow a direction: the link goes on with the other.
    func peerRefused(_ direction: ReplicationDirections) {
        directions.subtract(direction)
        if direction.contains(.send) { for replicator in replicators { replicator.pusher?.stop() } }
    }
}
