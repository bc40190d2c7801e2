import KithDocuments
import KithStore

extension NodeStatus {
    /// The status as JSON, `schemaVersion` 1: times in UTC, sizes in bytes, `null` for unknown.
    public var json: JSONValue {
        JSONValue(object: [
            ("schemaVersion", 1),
            (
                "node",
                JSONValue(object: [
                    ("name", .string(name)), ("id", .string(id.short)), ("fullID", .string(id.description)),
                    ("version", .string(version)), ("state", "running"), ("health", .string(health.rawValue)),
                    ("startedAt", .string(WallClock.text(startedAt))),
                    ("listening", .array(listening.map { .string($0) })), ("port", JSONValue(Int64(port))),
                    ("discovery", discovery.json),
                ])
            ),
            ("databases", .array(databases.map(\.json))),
            ("peers", .array(peers.map(\.json))),
            ("servers", .array(servers.map(\.json))),
            (
                "nearby",
                .array(
                    nearby.map {
                        JSONValue(object: [
                            ("name", .string($0.name)), ("id", .string($0.id)), ("address", .string($0.address)),
                            ("askedAt", $0.askedAt.map { .string(WallClock.text($0)) } ?? .null),
                        ])
                    })
            ),
            (
                "conflicts",
                .array(
                    conflicts.map {
                        JSONValue(object: [
                            ("database", .string($0.database)), ("id", .string($0.id)),
                            ("versions", JSONValue(Int64($0.versions))),
                        ])
                    })
            ),
            (
                "problems",
                .array(
                    problems.map {
                        JSONValue(object: [
                            ("code", .string($0.code)), ("severity", .string($0.severity.rawValue)),
                            ("subject", .string($0.subject)), ("text", .string($0.text)),
                            ("command", JSONValue(optional: $0.command)),
                        ])
                    })
            ),
        ])
    }
}

extension NodeStatus.DiscoveryStatus {
    var json: JSONValue {
        switch self {
        case .on(let interfaces):
            JSONValue(object: [("state", "on"), ("interfaces", .array(interfaces.map { .string($0) }))])
        case .off(let reason, let remedy):
            JSONValue(object: [
                ("state", "off"), ("reason", .string(reason)), ("remedy", JSONValue(optional: remedy)),
            ])
        }
    }
}

extension NodeStatus.DatabaseStatus {
    var json: JSONValue {
        JSONValue(object: [
            ("name", .string(name)), ("documents", JSONValue(Int64(documents))), ("bytes", JSONValue(bytes)),
            ("sequence", JSONValue(Int64(clamping: sequence))), ("conflicts", JSONValue(Int64(conflicts))),
            ("merge", .string(mergePolicy.rawValue)),
        ])
    }
}

extension NodeStatus.PeerStatus {
    var json: JSONValue {
        JSONValue(object: [
            ("name", .string(name)), ("id", .string(id.short)), ("fullID", .string(id.description)),
            ("trust", "paired"), ("state", .string(state.rawValue)), ("since", JSONValue(time: since)),
            ("toSend", JSONValue(optional: toSend)), ("toReceive", JSONValue(optional: toReceive)),
            ("lastInSyncAt", JSONValue(time: lastInSyncAt)), ("address", JSONValue(optional: address)),
            ("tls", JSONValue(optional: tls)), ("problem", JSONValue(optional: problem)),
            ("databases", .array(databases.map(\.json))),
        ])
    }
}

extension DocumentRefusal {
    var json: JSONValue {
        JSONValue(object: [
            ("collection", .string(key.collection.text)), ("id", .string(key.id)), ("rev", .string(revision)),
            ("direction", key.isOutgoing ? "sent" : "received"), ("by", isByPeer ? "peer" : "here"),
            ("code", JSONValue(code)), ("reason", .string(reason)), ("at", JSONValue(time: wallSeconds)),
            ("attempts", JSONValue(attempts)),
        ])
    }
}

extension NodeStatus.SharedDatabase {
    var json: JSONValue {
        JSONValue(object: [
            ("name", .string(name)), ("state", .string(state.rawValue)), ("access", .string(access.rawValue)),
            ("direction", .string(directions.name)), ("toSend", JSONValue(optional: toSend)),
            ("toReceive", JSONValue(optional: toReceive)), ("completed", JSONValue(Int64(completed))),
            ("total", JSONValue(Int64(total))), ("refused", JSONValue(Int64(refused))),
            ("refusals", .array(refusals.map(\.json))),
            ("lastError", JSONValue(optional: lastError)), ("lastErrorAt", JSONValue(time: lastErrorAt)),
            ("lastInSyncAt", JSONValue(time: lastInSyncAt)),
        ])
    }
}
