import KithDocuments

extension StatusReport {
    /// Reads the object.
    ///
    /// - Throws: `KithError` (protocol_violation) when it is not a status, or of a version that this program cannot
    ///   read.
    init(_ value: JSONValue) throws {
        guard let node = value["node"], node.objectValue != nil, let version = value["schemaVersion"]?.int64Value else {
            throw ConnectionFailure.garbage("a status without a node in it")
        }
        guard version == 1 else {
            throw KithError(
                .newerFormat, "the node tells its status in version \(version), and this program reads version 1",
                remedy: "Use the kith that came with the node")
        }
        name = node.text("name")
        id = node.text("id")
        fullID = node["fullID"]?.stringValue
        self.version = node.text("version")
        state = node["state"]?.stringValue ?? "running"
        health = node["health"]?.stringValue ?? "ok"
        startedAt = node.instant("startedAt")
        listening = node.items("listening").compactMap(\.stringValue)
        if let discovery = node["discovery"] {
            self.discovery = Discovery(
                isOn: discovery["state"]?.stringValue != "off",
                interfaces: discovery.items("interfaces").compactMap(\.stringValue),
                reason: discovery["reason"]?.stringValue, remedy: discovery["remedy"]?.stringValue)
        }
        databases = value.items("databases").map {
            Database(
                name: $0.text("name"), documents: $0.number("documents") ?? 0, bytes: $0.number("bytes") ?? 0,
                sequence: $0.number("sequence") ?? 0, conflicts: $0.number("conflicts") ?? 0)
        }
        peers = value.items("peers").map(Self.peer)
        servers = value.items("servers").map {
            Server(
                url: $0.text("url"), database: $0.text("database"), state: $0.text("state"),
                toSend: $0.number("toSend"), toReceive: $0.number("toReceive"), refused: $0.number("refused") ?? 0,
                refusals: $0.items("refusals").map(Self.refusal), lastError: $0["lastError"]?.stringValue,
                lastErrorAt: $0.instant("lastErrorAt"), retryAt: $0.instant("retryAt"),
                lastInSyncAt: $0.instant("lastInSyncAt"))
        }
        nearby = value.items("nearby").map {
            Nearby(
                name: $0.text("name"), id: $0.text("id"), address: $0.text("address"), askedAt: $0.instant("askedAt"))
        }
        problems = value.items("problems").map {
            Problem(
                code: $0.text("code"), severity: Severity(rawValue: $0.text("severity")) ?? .attention,
                subject: $0.text("subject"), text: $0.text("text"), command: $0["command"]?.stringValue)
        }
        conflicts = value.items("conflicts").map {
            Conflict(database: $0.text("database"), id: $0.text("id"), versions: $0.number("versions") ?? 2)
        }
    }

    /// The version alone: `1.3` of `TLSv1.3`.
    private static func withoutPrefix(_ tls: String) -> String {
        tls.utf8.starts(with: "TLSv".utf8) ? String(decoding: tls.utf8.dropFirst(4), as: UTF8.self) : tls
    }

    private static func refusal(_ value: JSONValue) -> Refusal {
        Refusal(
            collection: value["collection"]?.stringValue.flatMap { DisplayText.same($0, "_default") ? nil : $0 },
            id: value.text("id"), isByPeer: value["by"]?.stringValue == "peer", code: value.number("code") ?? 0,
            reason: value.text("reason"), at: value.instant("at"))
    }

    private static func peer(_ value: JSONValue) -> Peer {
        Peer(
            name: value.text("name"), id: value.text("id"), fullID: value["fullID"]?.stringValue,
            state: PeerState(rawValue: value.text("state")) ?? .unknown, since: value.instant("since"),
            toSend: value.number("toSend"), toReceive: value.number("toReceive"),
            lastInSyncAt: value.instant("lastInSyncAt"), address: value["address"]?.stringValue,
            tls: value["tls"]?.stringValue.map(withoutPrefix), problem: value["problem"]?.stringValue,
            databases: value.items("databases").map {
                SharedDatabase(
                    name: $0.text("name"), state: PeerState(rawValue: $0.text("state")) ?? .unknown,
                    access: $0["access"]?.stringValue ?? "both", sends: $0.flows("send"), receives: $0.flows("receive"),
                    toSend: $0.number("toSend"), toReceive: $0.number("toReceive"),
                    completed: $0.number("completed") ?? 0, total: $0.number("total") ?? 0,
                    refused: $0.number("refused") ?? 0,
                    refusals: $0.items("refusals").map(refusal),
                    lastError: $0["lastError"]?.stringValue, lastErrorAt: $0.instant("lastErrorAt"),
                    lastInSyncAt: $0.instant("lastInSyncAt"))
            })
    }
}

extension JSONValue {
    /// A member's text, or none.
    fileprivate func text(_ name: String) -> String { self[name]?.stringValue ?? "" }

    fileprivate func number(_ name: String) -> Int? { self[name]?.int64Value.flatMap { Int(exactly: $0) } }

    fileprivate func instant(_ name: String) -> Instant? { self[name]?.stringValue.flatMap(Instant.init(parsing:)) }

    /// Whether a direction is on; where nothing is said of it, both are.
    fileprivate func flows(_ direction: String) -> Bool {
        guard let text = self["direction"]?.stringValue else { return true }
        return DisplayText.same(text, "both") || DisplayText.same(text, direction)
    }

    fileprivate func items(_ name: String) -> [JSONValue] { self[name]?.arrayValue ?? [] }
}
