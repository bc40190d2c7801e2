import KithDocuments
import KithStore
import KithWire

/// Keeps the checkpoint of an active session: on both sides, so that neither a lost file here nor a recreated or
/// restored database there lets a change be missed.
///
/// A checkpoint never claims more than is durable: pushed sequences count when the peer has acknowledged their
/// revisions, pulled ones when the store here has committed them.
final class Checkpointer {
    /// Where the two directions stand.
    struct Position: Equatable {
        /// Everything up to this sequence of ours is at the peer.
        var local: UInt64 = 0
        /// Everything up to this sequence of the peer is here, as JSON text; `nil`: nothing.
        var remote: [UInt8]?

        init() {}

        init?(parsing body: [UInt8]) {
            guard let value = try? JSONValue(parsing: body), value.objectValue != nil else { return nil }
            self.init(value)
        }

        init(_ value: JSONValue) {
            local = value["local"]?.int64Value.map { UInt64(clamping: $0) } ?? 0
            if let remote = value["remote"], remote != .null { self.remote = remote.canonicalBytes() }
        }

        var body: [UInt8] {
            var text = Array("{\"local\":\(local)".utf8)
            if let remote {
                text.append(contentsOf: ",\"remote\":".utf8)
                text.append(contentsOf: remote)
            }
            text.append(UInt8(ascii: "}"))
            return text
        }

        /// What both copies agree on: the smaller of two numbers, and the beginning where other positions differ.
        func common(with other: Position) -> Position {
            var result = Position()
            result.local = min(local, other.local)
            if remote == other.remote {
                result.remote = remote
            } else if let remote, let theirs = other.remote {
                result.remote = SentPosition.earlier(remote, theirs)
            }
            return result
        }

    }

    private unowned let replicator: CollectionReplicator
    private var session: ReplicationSession { replicator.session }
    private var saved = Position()
    /// The peer's copy has this revision; empty when it has none.
    private var revision = ""
    private(set) var isLoaded = false
    private var isSaving = false
    private var dirtySinceSeconds: Double?
    private var retriesLeft = Checkpointer.retriesMax
    /// Whether the peer has no room for it: the link goes on without, and the next begins where this one did.
    private var isRefused = false

    /// Attempts to save after the peer said that its copy has another revision, before the link is ended.
    private static let retriesMax = 3
    /// How long after becoming idle the checkpoint is saved; a burst of single changes shares one.
    private static let idleDelaySeconds = 0.5

    init(replicator: CollectionReplicator) { self.replicator = replicator }

    /// The local document that keeps the copy here.
    static func ownName(_ configuration: ReplicationConfiguration) -> String { "own/" + configuration.checkpointName }

    private var ownName: String { Self.ownName(replicator.configuration) }

    /// Whether there is one. Certain documents have none, and are compared anew each time: every choice would need its own, and peers
    /// keep only so many.
    private var isKept: Bool { replicator.configuration.documentIDs == nil }

    /// Reads both copies and hands over what they agree on.
    func load(then start: @escaping (Position) -> Void) {
        guard isKept else {
            isLoaded = true
            return start(saved)
        }
        replicator.perform(.readLocal(name: ownName)) { [unowned self] result in
            guard case .local(let bytes) = result else { return session.storeFailed(result) }
            let own = bytes.flatMap(Position.init(parsing:))
            fetch { [unowned self] peers in
                isLoaded = true
                if let own, let peers { saved = own.common(with: peers) }
                start(saved)
            }
        }
    }

    /// Takes both copies as they came with `getCollections`, and gives what they agree on.
    func take(own: [UInt8]?, peers: JSONValue) -> Position {
        isLoaded = true
        guard isKept else { return saved }
        // Sync Gateway leaves the revision in the body.
        let revision = peers["rev"]?.stringValue ?? peers["_rev"]?.stringValue
        self.revision = revision ?? ""
        if let own = own.flatMap(Position.init(parsing:)), revision != nil { saved = own.common(with: Position(peers)) }
        return saved
    }

    private func fetch(then use: @escaping (Position?) -> Void) {
        replicator.send(
            message("getCheckpoint", [])
        ) { [unowned self] reply in
            if let error = reply.error {
                guard error.code == 404 else {
                    return session.end(
                        closeCode: error.code == 503 ? 4001 : 4002,
                        "the peer does not give its checkpoint: \(error.domain) \(error.code) \(error.message.prefix(200))"
                    )
                }
                revision = ""
                return use(nil)
            }
            revision = reply.properties["rev"] ?? ""
            use(Position(parsing: reply.body))
        }
    }

    /// Whether there is something to save that nobody saves yet.
    var isWaiting: Bool { dirtySinceSeconds != nil && !isSaving }

    /// When a save is due, in monotonic seconds.
    ///
    /// - Parameter isIdle: whether the session has nothing else to do.
    func deadlineSeconds(isIdle: Bool) -> Double? {
        guard let since = dirtySinceSeconds, !isSaving else { return nil }
        return since + (isIdle ? Self.idleDelaySeconds : replicator.configuration.limits.checkpointDelaySeconds)
    }

    private var position: Position {
        var position = saved
        if let pusher = replicator.pusher { position.local = pusher.sentThrough }
        if let puller = replicator.puller { position.remote = puller.completed }
        return position
    }

    /// Looks whether there is something to save; called after each input of the replicator.
    ///
    /// - Returns: whether there is and was not before.
    func note() -> Bool {
        guard isLoaded, isKept, !isRefused, dirtySinceSeconds == nil, position != saved else { return false }
        dirtySinceSeconds = replicator.now.monotonicSeconds
        return true
    }

    /// Saves what is not saved, without waiting for more.
    func saveNow() {
        guard isLoaded, !isSaving, !isSaved else { return }
        save(position)
    }

    /// Whether both copies say how far it is, as far as they are kept.
    var isSaved: Bool { isLoaded && (!isKept || isRefused || !isSaving && position == saved) }

    /// Saves what there is now.
    func save() { save(position) }

    private func save(_ position: Position) {
        isSaving = true
        replicator.send(message("setCheckpoint", position.body, revision: revision)) {
            [unowned self] reply in
            if let error = reply.error {
                if error.code == 413 {
                    (isRefused, isSaving, dirtySinceSeconds) = (true, false, nil)
                    return
                }
                guard error.code == 409 || error.code == 404, retriesLeft > 0 else {
                    return session.end(
                        closeCode: 4001,
                        "the peer does not take the checkpoint: \(error.domain) \(error.code) \(error.message.prefix(200))"
                    )
                }
                retriesLeft -= 1
                let wasThere = !revision.isEmpty
                return fetch { [unowned self] _ in
                    // What went with its checkpoint has to be sent again: the next link begins without one.
                    guard !wasThere || !revision.isEmpty else {
                        return session.end(
                            closeCode: 4001, "the peer's checkpoint of \(replicator.collection.text) is gone")
                    }
                    save(position)
                }
            }
            retriesLeft = Self.retriesMax
            revision = reply.properties["rev"] ?? ""
            // The copy here is written last: it never claims more than the peer's.
            replicator.perform(
                .writeLocal(
                    [LocalDocument(name: ownName, body: position.body)]
                        // Who sends nothing does not know how far the peer is.
                        + (replicator.pusher == nil
                            ? [] : [Self.progress(sentThrough: position.local, replicator: replicator)]))
            ) { [unowned self] result in
                guard case .written = result else { return session.storeFailed(result) }
                saved = position
                isSaving = false
                dirtySinceSeconds = nil
            }
        }
    }

    /// The local document that says how much the peer has, for status while it is away.
    static func progress(sentThrough: UInt64, replicator: CollectionReplicator) -> LocalDocument {
        PeerProgress(
            sentThrough: sentThrough,
            lastInSyncWallSeconds: replicator.session.isPairInSync ? replicator.now.wallSeconds : nil,
            filterTag: replicator.configuration.filterTag
        )
        .document(name: replicator.configuration.progressName)
    }

    private func message(_ profile: String, _ body: [UInt8], revision: String? = nil) -> BLIPOutgoing {
        var properties: BLIPProperties = ["Profile": profile, "client": replicator.configuration.checkpointName]
        if let revision { properties.append("rev", revision) }
        return BLIPOutgoing(properties: properties, body: body, isUrgent: false, isNoReply: false, isCompressed: false)
    }
}
