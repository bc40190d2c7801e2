import KithDocuments
import KithReplication
import KithStore
import KithWire

/// A session that has an endless backlog for a peer which takes what it wants and no more. The backlog is counted and not
/// made: each document is there when it is read, all with one body.
final class SlowReader {
    let session: ReplicationSession
    /// The most that the session held at any moment.
    private(set) var bytesHeldMost = 0
    /// What the session has read from its store.
    private(set) var bytesRead = 0
    /// Revisions that came here.
    private(set) var revisions = 0

    private let blip = BLIPConnection()
    private let documents: UInt64
    private let body: [UInt8]
    private let revision: RevisionID
    private let now = ReplicationInstant(monotonicSeconds: 1, wallSeconds: 1_800_000_000)
    private var unanswered: [UInt64] = []

    init(documents: UInt64, body: [UInt8]) throws {
        self.documents = documents
        self.body = body
        revision = try RevisionID(parsing: "1-" + String(repeating: "ab", count: 20))
        session = ReplicationSession(
            ReplicationConfiguration(
                role: .passive, checkpointName: "cp", progressName: "progress/slow", peerIsKith: true))
        session.start(lastSequence: documents, now: now)
        blip.send(BLIPOutgoing(properties: ["Profile": "subChanges", "continuous": "true"]), tag: 1)
        try give()
    }

    /// Moves everything except what only the peer could take.
    func work() {
        var requests = session.takeStoreRequests()
        while !requests.isEmpty {
            for pending in requests {
                session.complete(pending.token, answer(pending.request), now: now)
                note()
            }
            requests = session.takeStoreRequests()
        }
    }

    /// Takes some frames. Lists are answered at once, with a wish for everything, revisions when `answer` is called.
    func take(frames: Int) throws {
        var frame: [UInt8] = []
        for _ in 0..<frames {
            frame.removeAll(keepingCapacity: true)
            guard session.appendNextFrame(to: &frame) else { break }
            note()
            for event in try frame.withUnsafeBytes({ try blip.receive($0) }) {
                guard case .request(let message) = event, !message.isNoReply else { continue }
                if message.properties["Profile"] == "changes" {
                    let count = message.body.count { $0 == UInt8(ascii: "[") } - 1
                    let wishes = "[" + Array(repeating: "[]", count: count).joined(separator: ",") + "]"
                    blip.reply(BLIPOutgoing(body: Array(wishes.utf8)), to: message.number)
                    try give()
                } else {
                    revisions += 1
                    unanswered.append(message.number)
                }
            }
        }
    }

    /// Says of so many revisions that they are stored.
    func answer(_ count: Int) throws {
        for number in unanswered.prefix(count) { blip.reply(BLIPOutgoing(), to: number) }
        unanswered.removeFirst(min(count, unanswered.count))
        try give()
    }

    private func give() throws {
        var frame: [UInt8] = []
        while blip.appendNextFrame(to: &frame) {
            frame.withUnsafeBytes { session.receive(frame: $0, now: now) }
            frame.removeAll()
            note()
        }
        work()
    }

    private func note() { bytesHeldMost = max(bytesHeldMost, session.bytesHeld) }

    private func answer(_ request: StoreRequest) -> StoreResult {
        switch request {
        case .readChanges(let since, let limit, let counts):
            let last = min(documents, since + UInt64(limit))
            let leaves = [Leaf(revision: revision, isDeleted: false)]
            let changes = (since..<last).map { Change(sequence: $0 + 1, id: id($0 + 1), leaves: leaves) }
            return .changes(changes, remaining: counts ? Int(documents - last) : nil, lastSequence: documents)
        case .readRevisions(let wanted, let bytesMax):
            var answers: [Result<RevisionForTransfer?, KithError>] = []
            var bytes = 0
            for one in wanted where bytes <= bytesMax {
                bytes += body.count
                answers.append(
                    .success(
                        RevisionForTransfer(
                            id: one.name.id, revision: revision, isDeleted: false, body: body,
                            attachments: AttachmentList(), history: [])))
            }
            bytesRead += bytes
            return .revisions(answers)
        default: return .failed(KithError(.internal, "nothing else is asked for"))
        }
    }

    private func id(_ number: UInt64) -> DocumentID { .unchecked("document-\(number)") }
}
