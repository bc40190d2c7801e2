import KithDocuments
import Testing

@testable import KithCommands

/// A status as a node tells it, by name; each has golden files with the screens it gives.
struct StatusScenario: Sendable, CustomTestStringConvertible {
    let name: String
    let text: String

    var testDescription: String { name }

    var value: JSONValue { get throws { try JSONValue(parsing: text) } }

    var report: StatusReport { get throws { try StatusReport(try value) } }

    private static let ownID = "K7QX-2M9F-0N4P-YC7D-1ABC-2DEF-3GHJ-4KMN-5PQR-6STV-7WXY-8Z01-9234-5678"

    private init(
        _ name: String, health: String = "ok", databases: String? = nil, peers: [String] = [], nearby: [String] = [],
        conflicts: String = "", problems: String = "",
        discovery: String = "{\"state\":\"on\",\"interfaces\":[\"eth0\",\"wlan0\"]}"
    ) {
        self.name = name
        let usual = """
            {"name":"notes","documents":1204,"bytes":19083264,"sequence":48213,"conflicts":\(conflicts.isEmpty ? 0 : 2)},
            {"name":"photos","documents":312,"bytes":1503238553,"sequence":400,"conflicts":0}
            """
        text = """
            {"schemaVersion":1,
             "node":{"name":"kitchen-pi","id":"K7QX-2M9F","fullID":"\(Self.ownID)","version":"0.1.0","state":"running",
                     "health":"\(health)","startedAt":"2026-05-03T10:02:11Z","listening":["192.168.1.20:4984"],"port":4984,
                     "discovery":\(discovery)},
             "databases":[\(databases ?? usual)],
             "peers":[\(peers.joined(separator: ","))],
             "nearby":[\(nearby.joined(separator: ","))],
             "conflicts":[\(conflicts)],
             "problems":[\(problems)]}
            """
    }

    private static func peer(
        _ name: String, _ id: String, _ state: String, send: String = "0", receive: String = "0",
        inSync: String = "\"2026-05-06T12:31:01Z\"", completed: Int = 0, total: Int = 0, problem: String = "null",
        error: String = "null", refused: Int = 0, refusals: String = ""
    ) -> String {
        """
        {"name":"\(name)","id":"\(id)","fullID":"\(id)-0000-0000","trust":"paired","state":"\(state)",
         "since":"2026-05-05T16:43:00Z","toSend":\(send),"toReceive":\(receive),"lastInSyncAt":\(inSync),
         "address":"192.168.1.34:4984","tls":"1.3","problem":\(problem),
         "databases":[{"name":"notes","state":"\(state)","toSend":\(send),"toReceive":\(receive),"completed":\(completed),
         "total":\(total),"refused":\(refused),"refusals":[\(refusals)],"lastError":\(error),"lastErrorAt":null,"lastInSyncAt":\(inSync)}]}
        """
    }

    private static func nearby(_ name: String, _ id: String, _ address: String, asked: String = "null") -> String {
        "{\"name\":\"\(name)\",\"id\":\"\(id)\",\"address\":\"\(address)\",\"askedAt\":\(asked)}"
    }

    private static let laptop = peer("laptop", "M4VT-90XC", "inSync")

    static let alone = StatusScenario("alone")
    static let fresh = StatusScenario("fresh", databases: "")
    static let inSync = StatusScenario(
        "in-sync", peers: [laptop, peer("desk-mac", "T1ZB-66QE", "inSync", inSync: "\"2026-05-06T12:31:05Z\"")])
    static let syncing = StatusScenario(
        "syncing",
        peers: [
            peer("laptop", "M4VT-90XC", "syncing", receive: "1498", completed: 812, total: 2310),
            peer("desk-mac", "T1ZB-66QE", "syncing", send: "76", completed: 44, total: 120),
        ])
    static let mixed = StatusScenario(
        "mixed",
        peers: [
            peer("laptop", "M4VT-90XC", "syncing", send: "3", receive: "1498", completed: 812, total: 2313),
            peer("desk-mac", "T1ZB-66QE", "connecting", send: "37", receive: "null", inSync: "null"),
        ])
    static let offline = StatusScenario(
        "offline",
        peers: [
            laptop,
            peer("desk-mac", "T1ZB-66QE", "offline", send: "37", receive: "null", inSync: "\"2026-05-05T16:42:00Z\""),
        ])
    static let allOffline = StatusScenario(
        "all-offline",
        peers: [
            peer(
                "laptop", "M4VT-90XC", "offline", send: "1", receive: "null", inSync: "null",
                problem: "\"connection refused by 192.168.1.34:4984\"",
                error: "\"connection refused by 192.168.1.34:4984\""),
            peer(
                "tablet", "P3WE-8HJ2", "offline", send: "1", receive: "null",
                problem: "\"the peer closed the link: 4001 the node is stopping\""),
        ])
    static let blocked = StatusScenario(
        "blocked",
        peers: [
            peer(
                "laptop", "M4VT-90XC", "blocked", send: "212", receive: "null", inSync: "null",
                problem: "\"not_trusted\"")
        ])
    static let nearbyNodes = StatusScenario(
        "nearby", peers: [laptop],
        nearby: [
            nearby("tablet", "P3WE-8HJ2", "192.168.1.51", asked: "\"2026-05-06T12:30:29Z\""),
            nearby("printer", "9CKD-44TT", "192.168.1.77"),
        ])
    static let hostileNames = StatusScenario(
        "hostile-names", peers: [peer("小蘭の机", "M4VT-90XC", "inSync")],
        nearby: [nearby("x\\u001b[2J'$(reboot)", "P3WE-8HJ2", "fe80::1%eth0")])
    static let conflicts = StatusScenario(
        "conflicts", peers: [laptop],
        conflicts: """
            {"database":"notes","id":"shopping-list","versions":2},{"database":"notes","id":"plan 2027","versions":3}
            """,
        problems: """
            {"code":"conflicts","severity":"attention","subject":"notes","text":"2 documents in conflict","command":"kith conflicts notes"}
            """)
    static let trust = StatusScenario(
        "trust", health: "attention", peers: [laptop],
        problems: """
            {"code":"revoked","severity":"attention","subject":"tablet","text":"revoked by desk-mac on 2026-05-06 (left on the train); nothing is exchanged with it","command":"kith peers restore tablet"},
            {"code":"revoked-here","severity":"attention","subject":"desk-mac","text":"has revoked this node on 2026-05-06; other nodes follow it","command":"kith pair T1ZB-66QE"},
            {"code":"key-changed","severity":"attention","subject":"laptop","text":"shows another key, P3WE-8HJ2 at 192.168.1.51:4984, and not M4VT-90XC; nothing is exchanged with it","command":"kith peers verify laptop"},
            {"code":"key-shared","severity":"attention","subject":"this node","text":"192.168.1.77:4984 has this node's own key: its home was copied, and the two refuse each other","command":"kith key rotate   (on one of them, while it is stopped)"}
            """)
    static let refused = StatusScenario(
        "refused",
        peers: [
            peer(
                "laptop", "M4VT-90XC", "inSync", refused: 1,
                refusals: """
                    {"id":"scan\\u001b[2J/7","rev":"2-ab","direction":"sent","by":"peer","code":413,"reason":"Document scan/7: the document has 31457280 bytes; 20971520 are allowed","at":"2026-05-06T12:20:00Z","attempts":3}
                    """),
            peer(
                "tablet", "P3WE-8HJ2", "offline", refused: 7,
                refusals: (0..<6).map {
                    "{\"id\":\"d\($0)\",\"rev\":\"1-a\",\"direction\":\"received\",\"by\":\"here\",\"code\":400,\"reason\":\"no\",\"at\":null,\"attempts\":1}"
                }.joined(separator: ",")),
        ],
        problems: """
            {"code":"refused","severity":"attention","subject":"laptop","text":"1 document of notes was refused","command":"kith status notes"}
            """)
    static let discoveryOff = StatusScenario(
        "discovery-off",
        problems: """
            {"code":"discovery-off","severity":"attention","subject":"discovery","text":"Avahi is not running","command":null}
            """,
        discovery: """
            {"state":"off","reason":"Avahi's daemon is not running","remedy":"Install it: apt install avahi-daemon, or name peers with kith up --peer HOST:PORT"}
            """)
    static let stopped = StatusScenario(
        "stopped", health: "error",
        peers: [peer("laptop", "M4VT-90XC", "blocked", send: "212", receive: "null")],
        problems: """
            {"code":"disk_full","severity":"error","subject":"notes","text":"0 bytes are free of 58 GB where the databases are; reading works, writing and receiving are refused","command":"df -h"}
            """)

    static let all = [
        alone, fresh, inSync, syncing, mixed, offline, allOffline, blocked, nearbyNodes, hostileNames, conflicts,
        refused, trust,
        discoveryOff, stopped,
    ]
}
