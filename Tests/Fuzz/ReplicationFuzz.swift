import KithDocuments
import KithReplication
import KithStore
import KithWire

/// A peer that speaks BLIP correctly and says anything in it: its requests and answers are made of the input.
///
/// The first byte chooses the session's role. Messages are separated by `FF`, their parts (kind, id, rev, history, body)
/// by `FE`. Whatever comes, the session must neither trap nor store what the store would not read back.
func fuzzReplicationMessages(_ bytes: UnsafeRawBufferPointer) {
    guard let first = bytes.first else { return }
    var options = DatabaseOptions()
    options.writer = .caller
    guard let name = try? DatabaseName("fuzz"),
        let database = try? Database(path: ":memory:", name: name, create: true, options: options)
    else { return }
    defer { database.close() }
    let session = ReplicationSession(
        ReplicationConfiguration(
            role: first & 1 == 0 ? .passive : .active, checkpointName: "cp-fuzz", progressName: "progress/fuzz",
            peerIsKith: first & 2 == 0))
    let now = ReplicationInstant(monotonicSeconds: 1, wallSeconds: 1)
    session.start(lastSequence: 0, now: now)
    let peer = BLIPConnection()
    let profiles = [
        "changes", "rev", "norev", "getCheckpoint", "setCheckpoint", "subChanges", "proposeChanges", "getAttachment",
        "proveAttachment", "getCollections", "kith-collections",
    ]

    /// Moves everything that can move; the peer answers each request with `answer`.
    func move(answer: [UInt8]) {
        for _ in 0..<50 where session.ended == nil {
            var moved = false
            for pending in session.takeStoreRequests() {
                moved = true
                session.complete(
                    pending.token,
                    StoreExecutor(database: database).performNow(pending.request, in: pending.collection),
                    now: now)
            }
            var frame: [UInt8] = []
            while session.appendNextFrame(to: &frame) {
                moved = true
                let events = (try? frame.withUnsafeBytes { try peer.receive($0) }) ?? []
                for case .request(let message) in events where !message.isNoReply {
                    _ = peer.reply(
                        BLIPOutgoing(
                            properties: ["rev": String(decoding: answer.prefix(20), as: UTF8.self), "maxHistory": "2"],
                            body: answer, isUrgent: false, isNoReply: false, isCompressed: false), to: message.number)
                }
                frame.removeAll(keepingCapacity: true)
            }
            while session.ended == nil, peer.appendNextFrame(to: &frame) {
                moved = true
                frame.withUnsafeBytes { session.receive(frame: $0, now: now) }
                frame.removeAll(keepingCapacity: true)
            }
            if !moved { return }
        }
    }

    for message in bytes.dropFirst().split(separator: 0xFF).prefix(40) where session.ended == nil {
        var parts = message.split(separator: 0xFE, omittingEmptySubsequences: false).map { [UInt8]($0) }[...]
        let kind = Int(parts.popFirst()?.first ?? 0)
        func text() -> String { String(decoding: (parts.popFirst() ?? []).filter { $0 != 0 }, as: UTF8.self) }
        let (id, revision, history) = (text(), text(), text())
        let body = parts.popFirst() ?? []
        var properties: BLIPProperties = [
            "Profile": profiles[kind % profiles.count], "id": id, "rev": revision, "history": history, "client": id,
            "since": revision, "batch": history, "sequence": "1", "kith-remaining": revision, "digest": revision,
            "kith-offset": history, "deleted": kind & 64 == 0 ? "0" : "1", "continuous": "true",
        ]
        if kind & 16 != 0 { properties.append("collection", history) }
        peer.send(
            BLIPOutgoing(
                properties: properties, body: body, isUrgent: false, isNoReply: kind & 128 != 0,
                isCompressed: kind & 32 != 0),
            tag: 1)
        move(answer: body)
    }
    // Whatever was stored can be read and told apart.
    precondition((try? database.read { try $0.digest() }) != nil)
    precondition((try? database.findFaults())?.isEmpty == true)
}
