import KithDocuments
import KithReplication
import KithStore
import KithWire

/// A peer that speaks BLIP and says what a test wants: it sends requests to a passive session and answers those that come.
final class Stranger {
    let database: Database
    let session: ReplicationSession
    private let executor: StoreExecutor
    private let blip = BLIPConnection()
    /// The answers to its requests, in the order in which they came, by tag.
    private(set) var replies: [UInt64: BLIPMessage] = [:]
    /// What the session asked for.
    private(set) var requests: [BLIPMessage] = []
    /// Answers the session's requests; `nil` leaves one unanswered.
    var answer: (BLIPMessage) -> (properties: [String: String], body: [UInt8])? = { _ in ([:], []) }
    /// What the store lets go to it.
    var filter: PushFilter?
    /// What the store does instead of what it is asked, or before it; `nil` lets it do as it is asked.
    var store: (StoreRequest) throws -> StoreResult? = { _ in nil }
    private var now = ReplicationInstant(monotonicSeconds: 1, wallSeconds: 1_800_000_000)

    init(
        _ database: Database, role: ReplicationRole = .passive, peerIsKith: Bool = false,
        directions: ReplicationDirections = .both, filterTag: String? = nil, progressName: String = "progress/stranger",
        limits: ReplicationLimits = ReplicationLimits(), executor: StoreExecutor? = nil
    ) throws {
        self.database = database
        self.executor = executor ?? StoreExecutor(database: database)
        session = ReplicationSession(
            ReplicationConfiguration(
                role: role, checkpointName: "cp", progressName: progressName, peerIsKith: peerIsKith,
                directions: directions, filterTag: filterTag, limits: limits))
        session.start(lastSequence: try database.read { try $0.lastSequence }, now: now)
    }

    func send(_ properties: [String: String], _ body: [UInt8] = [], isNoReply: Bool = false, tag: UInt64) {
        blip.send(
            BLIPOutgoing(
                properties: BLIPProperties(properties.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }),
                body: body, isNoReply: isNoReply),
            tag: tag)
    }

    private var nextTag: UInt64 = 1_000

    /// Sends a request, lets everything move, and gives the answer; `nil` when there is none.
    @discardableResult
    func ask(
        _ profile: String, _ properties: [String: String] = [:], _ body: String = "", isNoReply: Bool = false
    ) throws -> BLIPMessage? {
        nextTag += 1
        let tag = nextTag
        send(
            properties.merging(["Profile": profile]) { first, _ in first }, Array(body.utf8), isNoReply: isNoReply,
            tag: tag)
        try run()
        return replies[tag]
    }

    /// Answers a request that was left unanswered, and lets everything move.
    func answer(late request: BLIPMessage) throws {
        blip.reply(BLIPOutgoing(), to: request.number)
        try run()
    }

    /// Tells the session of what was written to the database meanwhile, and lets everything move.
    func noteChange() throws {
        let sequences = try database.read { snapshot in
            try snapshot.collections().map { ($0, try snapshot.collection($0).lastSequence) }
        }
        session.databaseChanged(Dictionary(uniqueKeysWithValues: sequences.filter { $0.1 > 0 }), now: now)
        try run()
    }

    /// The requests of one kind that came since the last call for that kind.
    func takeRequests(_ profile: String) -> [BLIPMessage] {
        defer { requests.removeAll { $0.properties["Profile"] == profile } }
        return requests.filter { $0.properties["Profile"] == profile }
    }

    /// Lets time pass, in steps, and what that brings move.
    func pass(seconds: Double, times: Int = 1) throws {
        for _ in 0..<times {
            now.monotonicSeconds += seconds
            session.tick(now: now)
            try run()
        }
    }

    /// Moves frames and store requests until nothing moves.
    func run() throws {
        var moved = true
        while moved, session.ended == nil {
            moved = false
            var frame: [UInt8] = []
            while blip.appendNextFrame(to: &frame) {
                moved = true
                frame.withUnsafeBytes { session.receive(frame: $0, now: now) }
                frame.removeAll()
            }
            for pending in session.takeStoreRequests() {
                moved = true
                let result =
                    try store(pending.request)
                    ?? executor.filtered(by: filter).performNow(pending.request, in: pending.collection)
                session.complete(pending.token, result, now: now)
            }
            while session.appendNextFrame(to: &frame) {
                moved = true
                for event in try frame.withUnsafeBytes({ try blip.receive($0) }) { take(event) }
                frame.removeAll()
            }
        }
    }

    private func take(_ event: BLIPEvent) {
        switch event {
        case .response(let tag, let message): replies[tag] = message
        case .responsePart: break
        case .request(let message):
            requests.append(message)
            guard !message.isNoReply, let (properties, body) = answer(message) else { return }
            if let code = properties["Error-Code"].flatMap({ Int($0) }) {
                blip.replyError(domain: properties["Error-Domain"] ?? "HTTP", code: code, to: message.number)
            } else {
                blip.reply(
                    BLIPOutgoing(properties: BLIPProperties(properties.map { ($0, $1) }), body: body),
                    to: message.number)
            }
        }
    }
}
