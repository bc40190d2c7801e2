import KithDocuments
import KithWire

// What the peer asks for.

extension ReplicationSession {
    func handle(_ message: BLIPMessage) {
        let profile = message.properties["Profile"] ?? ""
        switch profile {
        case "getCollections": return getCollections(message)
        case Self.collectionsProfile where configuration.peerIsKith: return receiveCollections(message)
        case "changes", "proposeChanges", "rev", "norev", "getAttachment", "proveAttachment", "getCheckpoint",
            "setCheckpoint", "subChanges":
            break
        default: return replyError(domain: "BLIP", code: 404, "no handler for message", to: message)
        }
        if mode == .undecided, configuration.role == .passive { beginLegacy() }
        guard let replicator = replicator(for: message) else { return }
        touch(replicator)
        if refuseDirection(message, profile) { return }
        if message.droppedBodyBytes > 0 { return refuse(message, profile, replicator) }
        switch profile {
        case "getAttachment", "proveAttachment": blobSender.receive(message)
        case "getCheckpoint": replicator.getCheckpoint(message)
        case "setCheckpoint": replicator.setCheckpoint(message)
        case "subChanges": replicator.subscribe(message)
        default:
            guard let puller = replicator.puller else {
                return replyError(domain: "HTTP", code: 503, "not ready", to: message)
            }
            switch profile {
            case "changes": puller.receiveChanges(message)
            case "proposeChanges": puller.receiveProposals(message)
            case "rev": puller.receiveRevision(message)
            default: puller.receiveNoRevision(message)
            }
        }
    }

    /// What a message is about, or `nil` after answering that it does not say so rightly.
    private func replicator(for message: BLIPMessage) -> CollectionReplicator? {
        let isNamed = message.properties.contains(Self.collectionProperty)
        switch mode {
        case .undecided: replyError(domain: "HTTP", code: 503, "not ready", to: message)
        case .legacy where !isNamed: return replicators.first
        case .collections where isNamed:
            if let place = message.properties.int(Self.collectionProperty), places.indices.contains(place),
                let replicator = places[place]
            {
                return replicator
            }
            replyError(domain: "HTTP", code: 400, "the collection property is out of range", to: message)
        case .legacy, .collections:
            replyError(domain: "HTTP", code: 400, "inappropriate use of the collection property", to: message)
        }
        return nil
    }

    /// A message whose body was too large to be kept.
    private func refuse(_ message: BLIPMessage, _ profile: String, _ replicator: CollectionReplicator) {
        let error = KithError(.tooLarge, "the message has \(message.droppedBodyBytes) bytes, more than are taken")
        if profile == "rev", let puller = replicator.puller {
            puller.refuseRevision(message, error)
        } else {
            replyError(error, to: message)
        }
    }
}
