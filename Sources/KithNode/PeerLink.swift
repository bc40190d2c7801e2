import KithDocuments
import KithReplication
import KithStore
import KithTransport
import KithTrust
import KithWire

/// A live link: one TLS connection that has become a WebSocket, with one replication session on it.
///
/// It moves bytes between the socket, the machines and the store, watches that the peer is alive, and ends once. It never
/// reconnects: the manager makes a new one.
@LoopActor
final class PeerLink {
    let key: LinkKey
    let role: ReplicationRole
    /// The peer's address, for people.
    let address: String
    /// The TLS version, for people.
    let tlsVersion: String
    /// Whether the peer is a Kith node.
    let peerIsKith: Bool
    /// Whether the link is one of its own beside the one that the pair keeps.
    let isOneShot: Bool
    /// Called when the status may have changed.
    var onChange: (() -> Void)?
    /// Called with what one side refused, and with what was taken that had been refused before.
    var onRefusals: (([ReplicationRefusal], [ReplicationAcceptance]) -> Void)?
    /// Called with revisions that got to their receiver, while `tellsArrivals`.
    var onArrivals: (([ReplicationArrival]) -> Void)?
    /// Called when the peer has something to tell of keys, and asks to be dialled for that.
    var onNote: (() -> Void)?
    /// Called once, with the reason.
    var onEnd: ((KithError) -> Void)?
    private(set) var lastHeardWallSeconds = WallClock.seconds
    /// How often the peer has answered when it was asked for a sign of life.
    private(set) var pongCount = 0

    private let connection: Connection
    private let database: OpenDatabase
    /// The database's, with the filter of this link.
    private let executor: StoreExecutor
    private let session: ReplicationSession
    private let webSocket: WebSocketMachine
    private var remainder: [UInt8]
    private var heartbeat = LinkHeartbeat(atSeconds: PeerLink.monotonicSeconds)
    private var heartbeatTimer: LoopTimer?
    private var tick: LoopTimer?
    private var tickSeconds = 0.0
    private var isReadingPaused = false
    private var isEnded = false

    /// Bytes of frames collected before it is looked whether the socket has room for more.
    private static let writeBytes = 32 * 1024

    /// Makes a link of a connection whose upgrade is done.
    ///
    /// - Parameters:
    ///   - remainder: bytes that came behind the upgrade.
    ///   - directions: what may travel on it.
    ///   - pairDirections: what is allowed, where less is asked for.
    init(
        role: ReplicationRole, connection: Connection, address: String, tlsVersion: String, remainder: [UInt8],
        peerIsKith: Bool, ownID: NodeID, key: LinkKey, database: OpenDatabase, directions: ReplicationDirections,
        isOneShot: Bool = false, pairDirections: ReplicationDirections? = nil, documentIDs: Set<DocumentID>? = nil,
        filter: PushFilter? = nil
    ) {
        self.role = role
        self.connection = connection
        self.address = address
        self.tlsVersion = tlsVersion
        self.peerIsKith = peerIsKith
        self.isOneShot = isOneShot
        executor = database.executor.filtered(by: filter)
        let filterTag = filter?.tag
        self.remainder = remainder
        self.key = key
        self.database = database
        webSocket = WebSocketMachine(role: role == .active ? .client : .server)
        session = ReplicationSession(
            ReplicationConfiguration(
                role: role,
                checkpointName: Self.checkpointName(
                    of: database.database, at: key.peer, by: ownID, filterTag: filterTag),
                progressName: Self.progressName(key.peer), peerIsKith: peerIsKith, directions: directions,
                isContinuous: !isOneShot || role == .passive, documentIDs: documentIDs,
                pairDirections: isOneShot ? pairDirections ?? directions : nil, filterTag: filterTag))
    }

    /// Whether somebody wants to hear of each revision.
    var tellsArrivals: Bool {
        get { session.tellsArrivals }
        set { session.tellsArrivals = newValue }
    }

    /// How the replication stands.
    var status: ReplicationStatus { session.status }
    /// Whether it is known that the pair has all of each other that may travel.
    var isPairInSync: Bool { session.isPairInSync }
    /// What came into collections of which nothing was sent.
    var received: [CollectionName: ReceivedChanges] { session.received }

    /// Says which documents were refused on earlier links, and which of them are to be offered once more.
    func noteRefused(_ documents: [CollectionName: [DocumentID]], retrying: [CollectionName: [DocumentID]]) {
        guard !isEnded else { return }
        session.noteRefused(documents, retrying: retrying, now: Self.now)
        pump()
    }

    /// The checkpoint of a node at a peer. It has both in it besides the copy of the database: a file that was copied to
    /// another node by hand is the same copy there, and one must not take the word of the other for what the peer has.
    static func checkpointName(
        of database: Database, at peer: NodeID, by ownID: NodeID, filterTag: String? = nil
    ) -> String {
        let name = "cp-\(database.privateID)-\(ownID.compactShort)-\(peer.compactShort)"
        return filterTag.map { name + "-" + $0 } ?? name
    }

    /// The local document in which a database remembers how much a peer has.
    static func progressName(_ peer: NodeID) -> String { "progress/\(peer.description)" }

    // MARK: Life

    func start() {
        connection.onReceive = { [weak self] bytes in self?.receive(bytes) }
        connection.onDrained = { [weak self] in self?.pump() }
        connection.onClose = { [weak self] error in
            self?.finish(error ?? KithError(.connectionLost, "the peer closed the connection"))
        }
        session.start(lastSequence: database.lastSequence, now: Self.now)
        let early = remainder
        remainder = []
        if !early.isEmpty { early.withUnsafeBytes { receive($0) } }
        pump()
        watch()
    }

    func databaseChanged(_ lastSequences: [CollectionName: UInt64]) {
        guard !isEnded else { return }
        session.databaseChanged(lastSequences, now: Self.now)
        pump()
    }

    /// Closes the link for a reason of this node's.
    func end(closeCode: UInt16, _ reason: String, code: ErrorCode = .connectionLost) {
        guard !isEnded else { return }
        var bytes: [UInt8] = []
        webSocket.appendClose(code: closeCode, reason: reason, to: &bytes)
        connection.write(bytes)
        connection.close()
        finish(KithError(code, reason))
    }

    /// Ends the link at once: nothing more goes out, also not what waits.
    func cut(_ reason: String) {
        guard !isEnded else { return }
        connection.abort()
        finish(KithError(.closed, reason))
    }

    /// Asks the peer for a sign of life now: somebody says that the link is dead.
    func probe() {
        guard !isEnded, heartbeat.probe(atSeconds: Self.monotonicSeconds) else { return }
        ping()
        watch()
    }

    /// Tells the peer that there is something to tell of keys. A text, which is nothing in BLIP: a peer that does not know it
    /// passes it over.
    func sendNote() {
        guard !isEnded, peerIsKith else { return }
        var bytes: [UInt8] = []
        webSocket.appendMessage(.text, Self.note, to: &bytes)
        connection.write(bytes)
    }

    private static let note = Array("kith-trust".utf8)

    private func finish(_ error: KithError) {
        guard !isEnded else { return }
        isEnded = true
        heartbeatTimer?.cancel()
        tick?.cancel()
        connection.onReceive = nil
        connection.onDrained = nil
        connection.onClose = nil
        let onEnd = onEnd
        self.onEnd = nil
        onChange = nil
        onRefusals = nil
        onArrivals = nil
        onNote = nil
        onEnd?(error)
    }

    // MARK: Bytes

    private func receive(_ bytes: UnsafeRawBufferPointer) {
        guard !isEnded else { return }
        heartbeat.heard(atSeconds: Self.monotonicSeconds)
        lastHeardWallSeconds = WallClock.seconds
        let now = Self.now
        var goodbye: KithError?
        do {
            try webSocket.receive(bytes) { event in
                switch event {
                case .message(.binary, let payload): session.receive(frame: payload, now: now)
                case .message(_, let payload): if payload.elementsEqual(Self.note) { onNote?() }
                case .ping(let payload):
                    var pong: [UInt8] = []
                    webSocket.appendPong(payload, to: &pong)
                    connection.write(pong)
                case .pong: pongCount += 1
                case .close(let code, let reason):
                    // Couchbase Lite waits for the echo (RFC 6455 §5.5.1).
                    var echo: [UInt8] = []
                    webSocket.appendClose(code: code, to: &echo)
                    connection.write(echo)
                    let text = "the peer closed the link: \(code.map(String.init) ?? "no code") \(reason)"
                    goodbye = KithError(code == WebSocketCloseCode.normal ? .closed : .connectionLost, text)
                }
            }
        } catch {
            return end(closeCode: error.closeCode, "the peer broke the WebSocket protocol: \(error)")
        }
        if let goodbye {
            connection.close()
            return finish(goodbye)
        }
        pump()
    }

    /// Moves what can move: requests to the store, frames to the socket, and the wish to stop reading.
    private func pump() {
        guard !isEnded else { return }
        // First, so that it is queued for the disk before the checkpoint that passes the document over.
        let (refusals, taken) = (session.takeRefusals(), session.takeAcceptances())
        if !refusals.isEmpty || !taken.isEmpty { onRefusals?(refusals, taken) }
        let arrivals = session.takeArrivals()
        if !arrivals.isEmpty { onArrivals?(arrivals) }
        var before = -1
        while connection.bufferedByteCount < NodeLimits.linkBufferBytesMax, connection.bufferedByteCount != before {
            before = connection.bufferedByteCount
            connection.write { output in
                let end = output.count + Self.writeBytes
                while output.count < end,
                    webSocket.appendMessage(.binary, to: &output, writingPayload: { session.appendNextFrame(to: &$0) })
                {}
            }
        }
        // After the frames, since taking one can ask for the next piece of a blob.
        for pending in session.takeStoreRequests() {
            executor.perform(pending.request, in: pending.collection) { [weak self] result in
                EventLoop.shared.post { self?.complete(pending.token, result) }
            }
        }
        if session.isCongested != isReadingPaused {
            isReadingPaused.toggle()
            if isReadingPaused {
                connection.pauseReading()
            } else {
                // What has come meanwhile is read only after this.
                heartbeat.heard(atSeconds: Self.monotonicSeconds)
                connection.resumeReading()
            }
        }
        if let ended = session.ended { return end(closeCode: ended.closeCode, ended.reason, code: ended.code) }
        if connection.bufferedByteCount > session.configuration.limits.outgoingBytesMax {
            return cut("the peer sends and does not read")
        }
        scheduleTick()
        onChange?()
    }

    private func complete(_ token: UInt64, _ result: StoreResult) {
        guard !isEnded else { return }
        session.complete(token, result, now: Self.now)
        pump()
    }

    private func scheduleTick() {
        guard let deadline = session.nextDeadlineSeconds else {
            tick?.cancel()
            tick = nil
            return
        }
        guard tick == nil || deadline < tickSeconds else { return }
        tick?.cancel()
        tickSeconds = deadline
        tick = EventLoop.shared.schedule(afterSeconds: max(0.01, deadline - Self.monotonicSeconds)) { [weak self] in
            guard let self, !isEnded else { return }
            tick = nil
            session.tick(now: Self.now)
            pump()
        }
    }

    // MARK: Sign of life

    private func watch() {
        heartbeatTimer?.cancel()
        let wait = heartbeat.wakeAtSeconds - Self.monotonicSeconds
        heartbeatTimer = EventLoop.shared.schedule(afterSeconds: wait) { [weak self] in self?.beat() }
    }

    private func beat() {
        guard !isEnded else { return }
        switch heartbeat.wake(atSeconds: Self.monotonicSeconds, isDeaf: isReadingPaused) {
        case .nothing: break
        case .ping: ping()
        case .dead(let silence):
            connection.abort()
            return finish(KithError(.timedOut, "nothing was heard from the peer for \(Int(silence)) s"))
        }
        if session.status.state == .idle { onChange?() }
        watch()
    }

    private func ping() {
        var bytes: [UInt8] = []
        webSocket.appendPing(to: &bytes)
        connection.write(bytes)
    }

    private static var monotonicSeconds: Double { Double(EventLoop.monotonicNanoseconds) / 1e9 }

    private static var now: ReplicationInstant {
        ReplicationInstant(monotonicSeconds: monotonicSeconds, wallSeconds: WallClock.seconds)
    }
}
