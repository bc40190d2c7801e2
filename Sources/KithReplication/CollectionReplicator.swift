import KithDocuments
import KithStore
import KithWire

/// What a session does for one collection: a pusher, a puller, and on the active side a checkpoint.
///
/// Its parts see the session through it: their requests go to this collection of the store, and their messages name it.
final class CollectionReplicator {
    unowned let session: ReplicationSession
    let collection: CollectionName
    /// Its place in the list of `getCollections`, which each message about it names; `nil` where the default collection is
    /// replicated alone and is not named.
    let index: Int?
    let configuration: ReplicationConfiguration
    let windows: SharedWindows
    var pusher: Pusher?
    private(set) var puller: Puller?
    private(set) var checkpointer: Checkpointer?
    private(set) var lastSequence: UInt64
    /// Documents that the peer refused on earlier links and is offered once more.
    var toRetry: [DocumentID] = []
    /// What the session's status has counted of it.
    var counted = CollectionStanding()
    /// Whether something has happened here since the session's turns, and whether it waits for its next turn.
    var isTouched = false
    var isWaiting = false

    init(session: ReplicationSession, collection: CollectionName, index: Int?, lastSequence: UInt64) {
        self.session = session
        self.collection = collection
        self.index = index
        self.lastSequence = lastSequence
        configuration = session.configuration
        windows = session.windows
    }

    // MARK: Beginning

    /// The passive side: takes what the peer pushes, and sends when it subscribes.
    func servePeer() {
        guard configuration.directions.contains(.receive) else { return }
        puller = Puller(replicator: self, completed: nil)
    }

    /// The active side, with the peer's checkpoint still to be fetched.
    func fetchCheckpoint() {
        let checkpointer = Checkpointer(replicator: self)
        self.checkpointer = checkpointer
        checkpointer.load { [unowned self] in begin($0) }
    }

    /// The active side, with both copies of the checkpoint.
    ///
    /// - Parameters:
    ///   - own: the copy here.
    ///   - peers: what the peer said of its copy: the body, with its revision in it.
    func begin(own: [UInt8]?, peers: JSONValue) {
        let checkpointer = Checkpointer(replicator: self)
        self.checkpointer = checkpointer
        begin(checkpointer.take(own: own, peers: peers))
    }

    private func begin(_ checkpoint: Checkpointer.Position) {
        if directions.contains(.receive) {
            puller = Puller(replicator: self, completed: checkpoint.remote)
            subscribe(since: checkpoint.remote)
        }
        if directions.contains(.send) {
            pusher = Pusher(
                replicator: self, Subscription(since: checkpoint.local, configuration), lastSequence: lastSequence)
        }
    }

    private func subscribe(since: [UInt8]?) {
        var properties: BLIPProperties = [
            "Profile": "subChanges", "batch": String(configuration.limits.changesPerListMax),
            "versioning": "rev-trees",
        ]
        if configuration.isContinuous { properties.append("continuous", "true") }
        if let since { properties.append("since", String(decoding: since, as: UTF8.self)) }
        let body = configuration.documentIDs.map { ids in
            JSONValue.object(["docIDs": .array(ids.sorted().map { .string($0.text) })]).canonicalBytes()
        }
        send(BLIPOutgoing(properties: properties, body: body ?? [])) { [unowned self] reply in
            if let error = reply.error {
                guard !ReplicationSession.isDirectionRefused(error) else { return session.peerRefused(.receive) }
                session.end(
                    closeCode: error.code == 503 ? 4001 : 4002,
                    "the peer does not send its changes: \(error.domain) \(error.code) \(error.message.prefix(200))")
            }
        }
    }

    // MARK: Going on

    func databaseChanged(lastSequence: UInt64) {
        self.lastSequence = max(lastSequence, self.lastSequence)
        pusher?.databaseChanged(lastSequence: lastSequence)
    }

    /// Does whatever the shared windows allow now; the session calls it after something has happened here, and while this waits.
    func work() {
        pusher?.work()
        puller?.work()
    }

    /// Whether there is something to do that waits for room in the windows, or for what is under way.
    var hasWork: Bool { pusher?.hasWork == true || puller?.hasWork == true }

    /// How the collection stands now.
    var standing: CollectionStanding {
        CollectionStanding(
            toSend: pusher?.pending, toReceive: puller?.pending,
            sentThrough: pusher.flatMap { $0.isFiltered ? nil : $0.sentThrough },
            isIdle: isIdle,
            isLoaded: checkpointer?.isLoaded ?? true)
    }

    /// Whether each side has everything of the other that it asks for and that may travel, as far as this side knows.
    var isIdle: Bool {
        if directions.contains(.receive), puller?.isIdle != true { return false }
        guard directions.contains(.send) else { return true }
        // A client that only pushes never subscribes, but says when it has nothing more. One that may only pull has to ask first.
        return pusher?.isIdle ?? (isServingClient && puller?.isCaughtUp == true)
    }

    /// Whether the peer is a client that is no Kith node: it does not always say what it has, or ask for what is here.
    var isServingClient: Bool { configuration.role == .passive && !configuration.peerIsKith }

    // MARK: For the parts

    /// What may travel.
    var directions: ReplicationDirections { session.directions }
    var now: ReplicationInstant { session.now }
    var blobSender: BlobSender { session.blobSender }

    func perform(_ request: StoreRequest, then handler: @escaping (StoreResult) -> Void) {
        session.perform(request, for: self, then: handler)
    }

    func refused(
        _ name: RevisionName, by side: ReplicationRefusal.Side, isOutgoing: Bool, code: Int, reason: String
    ) {
        refused(
            id: name.id.text, revision: name.revision.description, by: side, isOutgoing: isOutgoing, code: code,
            reason: reason)
    }

    func refused(
        id: String, revision: String, by side: ReplicationRefusal.Side, isOutgoing: Bool, code: Int, reason: String
    ) {
        session.note(
            ReplicationRefusal(
                collection: collection, id: Self.cut(id, to: 240), revision: Self.cut(revision, to: 100), side: side,
                isOutgoing: isOutgoing, code: code, reason: Self.cut(reason, to: 500), wallSeconds: now.wallSeconds))
    }

    /// The receiver of a revision has it.
    func taken(_ name: RevisionName, isOutgoing: Bool) {
        session.noteTaken(ReplicationAcceptance(collection: collection, name: name, isOutgoing: isOutgoing))
    }

    /// A text from outside, cut to a number of bytes.
    private static func cut(_ text: String, to bytes: Int) -> String {
        text.utf8.count <= bytes ? text : String(decoding: text.utf8.prefix(bytes), as: UTF8.self)
    }

    /// Takes the peer's word on leaves here that are superseded, and goes on when that is durable.
    func supersede(_ supersessions: [Supersession], then handler: @escaping () -> Void) {
        guard !supersessions.isEmpty else { return handler() }
        perform(.supersede(supersessions)) { [unowned self] result in
            guard case .superseded = result else { return session.storeFailed(result) }
            handler()
        }
    }

    func send(
        _ request: consuming BLIPOutgoing, ifUnanswered patience: AwaitedReply.Patience? = nil,
        then handler: ((BLIPMessage) -> Void)? = nil
    ) {
        name(&request)
        session.send(request, for: self, ifUnanswered: patience, then: handler)
    }

    /// Sends a request whose response is handed out as it comes, see `ReplicationSession.send`.
    func send(
        _ request: consuming BLIPOutgoing, part: @escaping ([UInt8]) -> Void,
        then handler: @escaping (BLIPMessage) -> Void
    ) -> UInt64 {
        name(&request)
        return session.send(request, for: self, part: part, then: handler)
    }

    private func name(_ request: inout BLIPOutgoing) {
        if let index { request.properties.append(ReplicationSession.collectionProperty, String(index)) }
    }
}
