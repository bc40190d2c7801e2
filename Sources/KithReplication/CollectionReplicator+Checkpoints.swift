import KithDocuments
import KithWire

// Checkpoints that the peer keeps here.

extension ReplicationSession {
    /// Whether a peer may keep a checkpoint under a name.
    func isLegalCheckpoint(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.count <= configuration.limits.checkpointNameBytesMax
            && name.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }
}

extension CollectionReplicator {
    /// What the local document that keeps a peer's checkpoint is called, before the peer's name for it.
    static let checkpointPrefix = "checkpoint/"
    /// What the local document is called that lists the checkpoints of a peer, the one that was written last at the end.
    private var checkpointListName: String { "checkpoints-of/" + configuration.progressName }

    func getCheckpoint(_ message: BLIPMessage) {
        guard let name = checkpointName(message) else { return }
        perform(.readLocal(name: name)) { [unowned self] result in
            guard case .local(let bytes) = result else {
                return session.replyError(domain: "HTTP", code: 502, "the checkpoint cannot be read", to: message)
            }
            guard let stored = bytes.flatMap(StoredCheckpoint.init(decoding:)) else {
                return session.replyError(domain: "HTTP", code: 404, "there is no such checkpoint", to: message)
            }
            session.reply(
                to: message,
                BLIPOutgoing(
                    properties: ["rev": StoredCheckpoint.text(revision: stored.revision)], body: stored.body,
                    isUrgent: false, isNoReply: false, isCompressed: false))
        }
    }

    func setCheckpoint(_ message: BLIPMessage) {
        guard let name = checkpointName(message) else { return }
        guard message.body.count <= configuration.limits.checkpointBytesMax,
            let value = try? JSONValue(parsing: message.body), value.objectValue != nil
        else {
            return session.replyError(
                domain: "HTTP", code: 400,
                "a checkpoint is a JSON object of at most \(configuration.limits.checkpointBytesMax) bytes", to: message
            )
        }
        guard let expected = StoredCheckpoint.revision(parsing: message.properties["rev"] ?? "") else {
            return session.replyError(domain: "HTTP", code: 409, "the checkpoint has another revision", to: message)
        }
        // What the peer says it has of ours, and what it has sent itself, is what we do not owe it while it is away. Unless it asked
        // for nothing, or for certain documents only.
        let sent = value["remote"].flatMap {
            SentPosition.sequence($0.canonicalText(), tag: configuration.filterTag)
        }
        var progress: LocalDocument?
        if let sent, let pusher, !pusher.isFiltered {
            progress = Checkpointer.progress(sentThrough: max(sent, pusher.sentThrough), replicator: self)
        }
        perform(
            .writeCheckpoint(
                CheckpointWrite(
                    name: name, expectedRevision: expected, body: message.body, progress: progress,
                    listName: checkpointListName, ownMax: configuration.limits.checkpointsOfPeerMax,
                    countMax: configuration.limits.checkpointsMax))
        ) { [unowned self] result in
            switch result {
            case .checkpoint(let revision):
                session.reply(
                    to: message,
                    BLIPOutgoing(
                        properties: ["rev": StoredCheckpoint.text(revision: revision)], body: [], isUrgent: false,
                        isNoReply: false, isCompressed: false))
            case .checkpointConflict:
                session.replyError(domain: "HTTP", code: 409, "the checkpoint has another revision", to: message)
            case .failed(let error) where error.code == .tooLarge:
                session.replyError(error, to: message)
            default:
                session.replyError(domain: "HTTP", code: 502, "the checkpoint cannot be written", to: message)
            }
        }
    }

    /// The local document that keeps a peer's checkpoint, or `nil` after answering that the name is not legal.
    private func checkpointName(_ message: BLIPMessage) -> String? {
        guard let client = message.properties["client"], session.isLegalCheckpoint(client) else {
            session.replyError(
                domain: "HTTP", code: 400,
                "client must name a checkpoint in at most \(configuration.limits.checkpointNameBytesMax) bytes",
                to: message)
            return nil
        }
        return Self.checkpointPrefix + client
    }
}
