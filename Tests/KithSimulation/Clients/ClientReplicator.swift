import KithDocuments
import KithReplication
import KithWire

/// One connection of a simulated client, as Couchbase Lite 3 behaves on the wire: the active side, with `proposeChanges` and
/// `noconflicts`. Bytes in, bytes out; what a node must not do to it becomes a fault.
final class ClientReplicator {
    let client: SimulatedClient
    var database: ClientDatabase { client.database }
    var options: SimulatedClient.Options { client.options }
    let blip = BLIPConnection()
    private var handlers: [UInt64: (BLIPMessage) -> Void] = [:]
    private var nextTag: UInt64 = 1
    var random: SeededGenerator

    /// What the node did that Couchbase Lite does not put up with.
    private(set) var faults: [String] = []
    /// Revisions that the node has acknowledged since they were last taken.
    var acknowledged: [RevisionName] = []
    /// Checkpoints to be proved, since they were last taken: how far the node's sequences are here, and the client's there.
    var claims: [(pulledThrough: UInt64, pushedThrough: UInt64)] = []
    /// Whether it has done what it was to do once, and says goodbye.
    private(set) var isFinished = false

    private var isReady = false
    private var isSaving = false
    private var cannotSave = false
    private var checkpointRevision = ""
    private var saved: JSONValue?
    private var saidNothingMore = false

    // Push
    var isProposing = false
    var inFlight: Set<DocumentID> = []
    /// Attachments that the node may ask for.
    var inFlightDigests: [AttachmentDigest: Int] = [:]
    /// Revisions that wait for the node's to come, or that it does not take.
    var setAside: [DocumentID: RevisionID] = [:]
    // Pull
    var isCaughtUp = false
    /// The sequences of the node as they came, with whether they are done.
    var order: [(sequence: JSONValue, isDone: Bool)] = []
    var pulledThrough: JSONValue?
    /// The place in `order` of each revision that was asked for.
    var expected: [RevisionName: Int] = [:]

    init(_ client: SimulatedClient, seed: UInt64) {
        self.client = client
        random = SeededGenerator(seed: seed)
        begin()
    }

    func fail(_ text: String) { faults.append("client \(client.index): \(text)") }

    func takeFaults() -> [String] {
        defer { faults = [] }
        return faults
    }

    // MARK: Bytes

    func receive(_ frame: [UInt8]) {
        do {
            for event in try frame.withUnsafeBytes({ try blip.receive($0) }) {
                switch event {
                case .response(let tag, let message): handlers.removeValue(forKey: tag)?(message)
                case .request(let message): handle(message)
                case .responsePart: break
                }
            }
        } catch {
            fail("the node broke the message protocol: \(error)")
        }
        work()
    }

    func appendNextFrame(to bytes: inout [UInt8]) -> Bool { blip.appendNextFrame(to: &bytes) }

    func ask(
        _ profile: String, _ properties: BLIPProperties = BLIPProperties(), _ body: [UInt8] = [],
        isUrgent: Bool = false,
        then handler: @escaping (BLIPMessage) -> Void
    ) {
        nextTag += 1
        handlers[nextTag] = handler
        blip.send(message(profile, properties, body, isUrgent: isUrgent), tag: nextTag)
    }

    private func message(
        _ profile: String, _ properties: BLIPProperties, _ body: [UInt8], isUrgent: Bool = false,
        isNoReply: Bool = false
    ) -> BLIPOutgoing {
        var properties = properties
        properties.append("Profile", profile)
        if options.namesCollection, profile != "getCollections" { properties.append("collection", "0") }
        return BLIPOutgoing(
            properties: properties, body: body, isUrgent: isUrgent, isNoReply: isNoReply,
            isCompressed: random.chance(0.5))
    }

    func reply(_ number: UInt64, _ properties: BLIPProperties = BLIPProperties(), _ body: [UInt8] = []) {
        blip.reply(BLIPOutgoing(properties: properties, body: body), to: number)
    }

    private func handle(_ message: BLIPMessage) {
        guard message.properties["collection"] == (options.namesCollection ? "0" : nil) else {
            return fail("a message about another collection: \(message.properties)")
        }
        switch message.properties["Profile"] {
        case "changes": receiveChanges(message)
        case "rev": receiveRevision(message)
        case "norev": receiveNoRevision(message)
        case "getAttachment": sendAttachment(message)
        default: blip.replyError(domain: "BLIP", code: 404, message: "no handler for message", to: message.number)
        }
    }

    // MARK: Beginning and end

    private var checkpointName: String { "cp-client-\(client.index)" }

    private func begin() {
        if options.namesCollection {
            let body = #"{"checkpoint_ids":["\#(checkpointName)"],"collections":["_default"]}"#
            ask("getCollections", [:], Array(body.utf8)) { [unowned self] answer in
                guard answer.error == nil, let items = (try? JSONValue(parsing: answer.body))?.arrayValue,
                    items.count == 1, let object = items[0].objectValue
                else { return fail("getCollections was answered \(answer)") }
                begin(object.isEmpty ? nil : items[0], revision: items[0]["rev"]?.stringValue)
            }
        } else {
            ask("getCheckpoint", ["client": checkpointName]) { [unowned self] answer in
                if let error = answer.error {
                    guard error.domain == "HTTP", error.code == 404 else { return fail("getCheckpoint: \(error)") }
                    return begin(nil, revision: nil)
                }
                guard let body = try? JSONValue(parsing: answer.body) else {
                    return fail("a checkpoint that is no JSON")
                }
                begin(body, revision: answer.properties["rev"])
            }
        }
    }

    private func begin(_ remote: JSONValue?, revision: String?) {
        checkpointRevision = revision ?? ""
        let own = database.checkpoint
        if let own, let remote, own["remote"] == remote["remote"], own["local"] == remote["local"] {
            pulledThrough = own["remote"]
            saved = own
        } else {
            // The node has another database now, or an old one, or nobody knows: the copies agree up to the smaller of two numbers.
            database.forgetRemote()
            if let mine = own?["remote"]?.int64Value, let theirs = remote?["remote"]?.int64Value {
                pulledThrough = JSONValue(min(mine, theirs))
            }
        }
        if options.pulls { subscribe() }
        isReady = true
        work()
    }

    private func subscribe() {
        var properties: BLIPProperties = ["batch": "200", "versioning": "rev-trees", "sendReplacementRevs": "1"]
        if let pulledThrough { properties.append("since", pulledThrough.canonicalText()) }
        if options.isContinuous { properties.append("continuous", "true") }
        let ids = options.documentIDs.map { ids in
            JSONValue.object(["docIDs": .array(ids.sorted().map { .string($0.text) })]).canonicalBytes()
        }
        ask("subChanges", properties, ids ?? []) { [unowned self] answer in
            if let error = answer.error { fail("subChanges: \(error)") }
        }
    }

    /// Does whatever can be done now; called after all that happens, and when something was written.
    func work() {
        guard isReady, !isFinished, faults.isEmpty else { return }
        if options.pushes { propose() }
        let isPushed = !isProposing && inFlight.isEmpty
        let isPulled = !options.pulls || isCaughtUp && expected.isEmpty
        guard isPushed, isPulled, !isSaving else { return }
        if options.pushes, !saidNothingMore {
            saidNothingMore = true
            blip.send(message("proposeChanges", [:], Array("[]".utf8), isUrgent: true, isNoReply: true))
        }
        saveCheckpoint()
    }

    private func saveCheckpoint() {
        let first = database.pending { client.replicates($0) }.first.flatMap { database.documents[$0]?.sequence }
        let pushedThrough = options.pushes ? (first.map { $0 - 1 } ?? database.sequence) : 0
        var members: [(String, JSONValue)] = [("local", JSONValue(Int64(clamping: pushedThrough)))]
        if let pulledThrough { members.append(("remote", pulledThrough)) }
        let value = JSONValue.object(JSONObject(members))
        guard value != saved, !cannotSave else {
            isFinished = !options.isContinuous
            return
        }
        isSaving = true
        claims.append((UInt64(clamping: pulledThrough?.int64Value ?? 0), pushedThrough))
        ask("setCheckpoint", ["client": checkpointName, "rev": checkpointRevision], value.canonicalBytes()) {
            [unowned self] answer in
            isSaving = false
            if let error = answer.error {
                guard error.domain == "HTTP", error.code == 502 else { return fail("setCheckpoint: \(error)") }
                // The node's disk is full: what has travelled is there, and the next connection begins where this one did.
                cannotSave = true
                return
            }
            checkpointRevision = answer.properties["rev"] ?? ""
            saved = value
            database.checkpoint = value
        }
    }

    /// Something was written here.
    func databaseChanged() {
        saidNothingMore = false
        work()
    }
}
