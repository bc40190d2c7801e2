import KithWire

/// A request of HTTP that the replicator wants to be made.
public struct CouchDBRequest: Sendable {
    /// What is sent behind the head.
    public enum Body: Sendable {
        /// Nothing.
        case none
        /// These bytes.
        case bytes([UInt8])
        /// So many bytes, which the replicator gives piece by piece (`CouchDBAction.sendBody`) when it is asked for them
        /// (`CouchDBReplicator.wantsBody`).
        case stream(length: UInt64)
    }

    /// The method.
    public var method: String
    /// The path below the database, with its query, percent-encoded: empty, or beginning with a slash or `?`.
    public var path: String
    /// Header fields beside those that every request has.
    public var headers: [(name: String, value: String)] = []
    /// What is sent.
    public var body = Body.none
    /// The revisions that it is about, where one of them may be why it fails.
    var about: [CouchDBConfiguration.RefusedRevision] = []

    /// A request without a body.
    public init(_ method: String, _ path: String) {
        self.method = method
        self.path = path
    }

    /// A request with JSON.
    init(_ method: String, _ path: String, json: [UInt8]) {
        self.init(method, path)
        headers = [("Content-Type", "application/json")]
        body = .bytes(json)
    }

    /// What it is, for messages: the path without its query, which may be long.
    var shown: String { "\(method) \(path.prefix { $0 != "?" }.prefix(200))" }
}
