import KithDocuments

/// A checkpoint as CouchDB keeps it in a `_local` document: the last session and where it stopped, and the sessions before it,
/// the newest first ("CouchDB Replication Protocol", "Retrieve Replication Logs").
struct CouchDBCheckpoint: Equatable {
    /// The document without `_id` and `_rev`; an object.
    let body: JSONValue

    /// A document that was read; `nil` when it is no checkpoint.
    init?(_ document: JSONValue) {
        guard document["session_id"]?.stringValue != nil, document["source_last_seq"] != nil else { return nil }
        var body = document
        for name in ["_id", "_rev"] { body[name] = Optional.none }
        self.body = body
    }

    private var entries: [JSONValue] { body["history"]?.arrayValue ?? [] }

    /// Where both agree that a session has stopped; `nil` where they do not.
    static func common(_ one: CouchDBCheckpoint?, _ other: CouchDBCheckpoint?) -> JSONValue? {
        guard let one, let other else { return nil }
        if one.body["session_id"] == other.body["session_id"] {
            // The copies of one session may be of different moments: the one that was written last may not have arrived.
            if one.body["source_last_seq"] == other.body["source_last_seq"] { return one.body["source_last_seq"] }
        }
        var known: [String: JSONValue] = [:]
        for entry in other.entries {
            guard let session = entry["session_id"]?.stringValue, let position = entry["recorded_seq"] else { continue }
            if known[session] == nil { known[session] = position }
        }
        for entry in one.entries {
            guard let session = entry["session_id"]?.stringValue, let position = known[session] else { continue }
            // Of one session both have counted on from an earlier position; only numbers say which is earlier.
            let own = entry["recorded_seq"] ?? position
            if own == position { return own }
            guard let a = own.uint64Value, let b = position.uint64Value else { continue }
            return JSONValue(min(a, b))
        }
        return nil
    }

    /// What is to be written next.
    static func make(
        session: String, position: JSONValue, start: JSONValue, startTime: String, endTime: String, isOutgoing: Bool,
        replicator: CouchDBReplicator, before: CouchDBCheckpoint?, sessionsMax: Int
    ) -> CouchDBCheckpoint {
        let moved = isOutgoing ? replicator.counts.revisionsSent : replicator.counts.revisionsReceived
        let entry = JSONValue(object: [
            ("session_id", .string(session)), ("start_time", .string(startTime)), ("end_time", .string(endTime)),
            ("start_last_seq", start), ("end_last_seq", position), ("recorded_seq", position),
            ("missing_checked", JSONValue(replicator.missingChecked)),
            ("missing_found", JSONValue(replicator.missingFound)), ("docs_read", JSONValue(moved)),
            ("docs_written", JSONValue(moved)), ("doc_write_failures", JSONValue(replicator.writeFailures)),
        ])
        let older = (before?.entries ?? []).filter { $0["session_id"] != .string(session) }
        let body = JSONValue(object: [
            ("session_id", .string(session)), ("source_last_seq", position), ("replication_id_version", 4),
            ("history", .array([entry] + older.prefix(sessionsMax - 1))),
        ])
        return CouchDBCheckpoint(unchecked: body)
    }

    private init(unchecked body: JSONValue) { self.body = body }
}

extension JSONValue {
    /// An object with these members.
    init(object members: [(String, JSONValue)]) { self = .object(JSONObject(members)) }
}
