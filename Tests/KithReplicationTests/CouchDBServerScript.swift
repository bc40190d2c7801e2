import KithDocuments
import KithStore
import KithWire

@testable import KithReplication

/// Plays a CouchDB server by a list of answers, with a real store in memory.
final class CouchDBServerScript {
    let database: Database
    let machine: CouchDBReplicator
    private let executor: StoreExecutor
    var now = ReplicationInstant(monotonicSeconds: 0, wallSeconds: 1_700_000_000)
    /// What was asked: method and path without its query.
    private(set) var asked: [String] = []
    /// The requests that wait for an answer, by number.
    private(set) var open: [(number: UInt64, request: CouchDBRequest)] = []
    private(set) var consumed = 0
    /// What was sent of a body that is a stream.
    private(set) var body: [UInt8] = []
    private(set) var largestPiece = 0
    private(set) var isBodyWhole = false
    /// Whether what the store writes of documents is answered when `releaseInserts` is called.
    var holdsInserts = false
    private var held: [(token: UInt64, request: StoreRequest)] = []
    /// Answers a request; nil leaves it open.
    var answer: (CouchDBRequest) -> (status: Int, body: String)?

    init(
        _ directions: ReplicationDirections, isContinuous: Bool = false, database: Database? = nil,
        session: String = "s1", change: (inout CouchDBConfiguration) -> Void = { _ in },
        answer: @escaping (CouchDBRequest) -> (status: Int, body: String)?
    ) throws {
        self.database =
            try database
            ?? Database(
                path: ":memory:", name: DatabaseName("notes"), create: true, options: DatabaseOptions(writer: .caller))
        executor = StoreExecutor(database: self.database)
        var configuration = CouchDBConfiguration(
            directions: directions, isContinuous: isContinuous, sendCheckpoint: "kith-send",
            receiveCheckpoint: "kith-receive", sessionID: session, boundary: "b-\(session)",
            peerName: "http://couch/notes")
        change(&configuration)
        machine = CouchDBReplicator(configuration)
        self.answer = answer
    }

    /// What a server without anything answers.
    static func empty(_ request: CouchDBRequest) -> (status: Int, body: String)? {
        if request.path.isEmpty { return (200, #"{"db_name":"notes","update_seq":"0-x","instance_start_time":"0"}"#) }
        if request.path.hasPrefix("/_local/") {
            return request.method == "GET" ? (404, #"{"error":"not_found"}"#) : (201, #"{"ok":true,"rev":"0-1"}"#)
        }
        if request.path.hasPrefix("/_changes") { return (200, #"{"results":[],"last_seq":"0-x","pending":0}"#) }
        if request.path.hasPrefix("/_ensure_full_commit") { return (201, #"{"ok":true,"instance_start_time":"0"}"#) }
        if request.path.hasPrefix("/_revs_diff") { return (200, "{}") }
        return (500, "{}")
    }

    /// Begins, and goes on until nothing happens any more.
    func run() {
        machine.start(now: now)
        settle()
    }

    func settle() {
        while true {
            let actions = machine.takeActions()
            if actions.isEmpty { return }
            for action in actions {
                switch action {
                case .store(let token, let request):
                    if holdsInserts, case .insert = request {
                        held.append((token, request))
                        continue
                    }
                    machine.complete(token, executor.performNow(request), now: now)
                case .send(let number, let request):
                    asked.append("\(request.method) \(request.path.prefix { $0 != "?" })")
                    open.append((number, request))
                    if let (status, body) = answer(request) { reply(number, status, body) }
                case .consumed(_, let count): consumed += count
                case .cancel(let number): open.removeAll { $0.number == number }
                case .sendBody(_, let bytes, let isLast):
                    body += bytes
                    largestPiece = max(largestPiece, bytes.count)
                    isBodyWhole = isLast
                }
            }
        }
    }

    func reply(_ number: UInt64, _ status: Int, _ body: String, _ headers: HTTPHeaders = HTTPHeaders()) {
        open.removeAll { $0.number == number }
        machine.receiveHead(number, status: status, headers: headers, now: now)
        machine.receiveBody(number, Array(body.utf8), now: now)
        machine.receiveEnd(number, now: now)
    }

    func releaseInserts() {
        for (token, request) in held { machine.complete(token, executor.performNow(request), now: now) }
        held = []
        settle()
    }

    /// Cuts an answer off.
    func cut(_ number: UInt64) {
        open.removeAll { $0.number == number }
        machine.receiveFailure(number, KithError(.connectionLost, "cut"), now: now)
        settle()
    }

    var isCompleted: Bool { if case .completed? = machine.ended { true } else { false } }

    /// Why it ended.
    var failure: (error: KithError, mayHelp: Bool, retryAfter: Double?)? {
        guard case .failed(let error, let mayHelp, let retryAfter)? = machine.ended else { return nil }
        return (error, mayHelp, retryAfter)
    }

    func local(_ name: String) throws -> JSONValue? {
        try database.read { try $0.localDocument("_local/" + name) }.map { bytes in
            try JSONValue(parsing: Array(bytes.drop { $0 != UInt8(ascii: "\n") }.dropFirst()))
        }
    }
}
