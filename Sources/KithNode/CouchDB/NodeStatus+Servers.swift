import KithDocuments
import KithReplication
import KithStore
import KithTransport

extension NodeStatus {
    /// A database, as replicated with one of a CouchDB server.
    public struct ServerStatus: Sendable {
        /// What is being done.
        public enum State: String, Sendable {
            /// Both sides have the same.
            case inSync
            /// Changes are on their way.
            case syncing
            /// The server is asked how it stands.
            case connecting
            /// The last attempt failed; the next one waits for its time.
            case waiting
            /// Nothing is under way; documents stand refused from earlier.
            case notRunning
        }

        /// The database there: its URL without credentials.
        public var url: String
        /// The database here.
        public var database: String
        /// What is being done.
        public var state: State
        /// Since when a replication is under way, in seconds since 1970.
        public var startedAt: Int64?
        /// Whether it goes on with what comes.
        public var isContinuous: Bool
        /// What travels: to the server (`send`) and from it (`receive`).
        public var directions: ReplicationDirections
        /// Changed documents that the server lacks.
        public var toSend: Int?
        /// The server's changed documents that are not stored here.
        public var toReceive: Int?
        /// Documents done of this round, and documents that it began with.
        public var completed: Int
        /// Documents that this round began with.
        public var total: Int
        /// Documents that one side refused, and that were not taken since.
        public var refused: Int
        /// The last of them.
        public var refusals: [DocumentRefusal]
        /// What went wrong last, until it went well again.
        public var lastError: String?
        /// When, in seconds since 1970.
        public var lastErrorAt: Int64?
        /// When the next attempt begins, in seconds since 1970.
        public var retryAt: Int64?
        /// When both sides last had the same, in seconds since 1970.
        public var lastInSyncAt: Int64?
    }
}

extension NodeStatus.ServerStatus {
    var json: JSONValue {
        JSONValue(object: [
            ("url", .string(url)), ("database", .string(database)), ("state", .string(state.rawValue)),
            ("startedAt", JSONValue(time: startedAt)), ("continuous", .bool(isContinuous)),
            ("direction", .string(directions.name)), ("toSend", JSONValue(optional: toSend)),
            ("toReceive", JSONValue(optional: toReceive)), ("completed", JSONValue(completed)),
            ("total", JSONValue(total)), ("refused", JSONValue(refused)),
            ("refusals", .array(refusals.map(\.json))), ("lastError", JSONValue(optional: lastError)),
            ("lastErrorAt", JSONValue(time: lastErrorAt)), ("retryAt", JSONValue(time: retryAt)),
            ("lastInSyncAt", JSONValue(time: lastInSyncAt)),
        ])
    }

    /// How a replication stands that is under way.
    @LoopActor
    init(_ job: HTTPReplicationJob) {
        let report = job.report
        url = job.request.address.url
        database = job.request.database.text
        state =
            if report.retryAt != nil {
                .waiting
            } else {
                switch report.status.state {
                case .connecting: .connecting
                case .busy: .syncing
                case .idle: .inSync
                }
            }
        startedAt = job.startedSeconds
        isContinuous = job.request.isContinuous
        directions = job.request.directions
        toSend = directions.contains(.send) ? report.status.toSend : 0
        toReceive = directions.contains(.receive) ? report.status.toReceive : 0
        (completed, total) = (report.status.completed, report.status.total)
        (refused, refusals) = (0, [])
        (lastError, lastErrorAt) = (report.lastError?.message, report.lastErrorAt)
        retryAt = report.retryAt
        lastInSyncAt = state == .inSync ? WallClock.seconds : report.lastInSyncAt
    }

    /// Documents that stand refused though nothing is under way.
    init(url: String, database: String) {
        (self.url, self.database, state) = (url, database, .notRunning)
        (startedAt, isContinuous, directions) = (nil, false, [])
        (toSend, toReceive, completed, total) = (nil, nil, 0, 0)
        (refused, refusals) = (0, [])
        (lastError, lastErrorAt, retryAt, lastInSyncAt) = (nil, nil, nil, nil)
    }
}

extension Node {
    /// The replications with CouchDB servers that are under way, and what stands refused of earlier ones.
    func serverStatus() async -> [NodeStatus.ServerStatus] {
        var servers = httpReplications.all.map { NodeStatus.ServerStatus($0) }
        for database in registry.all {
            let refusals = try? await database.read { snapshot in
                let all = try snapshot.refusals(limit: StoreLimits.refusalsMax).filter {
                    CouchDBAddress.isURL($0.key.peer)
                }
                let obsolete = Set(try snapshot.obsolete(all))
                return all.filter { !obsolete.contains($0.key) }
            }
            for refusal in refusals ?? [] {
                func isOf(_ server: NodeStatus.ServerStatus) -> Bool {
                    server.url.utf8.elementsEqual(refusal.key.peer.utf8)
                        && server.database.utf8.elementsEqual(database.name.text.utf8)
                }
                if !servers.contains(where: isOf) {
                    servers.append(NodeStatus.ServerStatus(url: refusal.key.peer, database: database.name.text))
                }
                guard let place = servers.firstIndex(where: isOf) else { continue }
                servers[place].refused += 1
                if servers[place].refusals.count < NodeLimits.refusalsListedMax {
                    servers[place].refusals.append(refusal)
                }
            }
        }
        return servers
    }
}
