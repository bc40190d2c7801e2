import KithDocuments
import KithTransport
import KithTrust

/// A document of `_replicator`: a replication that the node does again whenever it starts, until it is done or the document goes.
struct ReplicatorDocument: Sendable {
    /// How the replication stands.
    enum State: String, Sendable {
        /// It has not begun.
        case initializing
        /// It is under way.
        case running
        /// The last attempt failed; there will be another one.
        case crashing
        /// It has ended by itself, and is not done again.
        case completed
        /// It cannot be done as it is.
        case failed
    }

    let id: String
    /// How often it was written.
    var generation: UInt64
    /// What somebody has written, without names that begin with `_`. It may have a password in it, and is shown to nobody.
    var members: JSONObject
    var state = State.initializing
    var reason: String?
    /// Since when it is in this state, in seconds since 1970.
    var stateSeconds: Int64

    /// Whether there is something to do.
    var isUnfinished: Bool { state != .completed && state != .failed }

    /// Of what is shown: nobody can try passwords on it.
    var revision: String {
        let text = JSONValue.object(shownMembers).canonicalBytes() + Array("\(generation)\(id)".utf8)
        return "\(generation)-" + ContentDigest.hex(text).prefix(32)
    }

    /// The document as it is answered: without passwords.
    var shown: JSONValue {
        var value = JSONValue.object(shownMembers)
        value["_id"] = .string(id)
        value["_rev"] = .string(revision)
        value["_replication_state"] = .string(state.rawValue)
        value["_replication_state_time"] = .string(WallClock.text(stateSeconds))
        if let reason { value["_replication_state_reason"] = .string(reason) }
        return value
    }

    private var shownMembers: JSONObject {
        var shown = members
        for name in ["source", "target"] {
            if let end = shown[name] { shown[name] = Self.withoutPassword(end) }
        }
        return shown
    }

    private static func withoutPassword(_ end: JSONValue) -> JSONValue {
        guard let text = end.stringValue ?? end["url"]?.stringValue else { return .null }
        guard CouchDBAddress.isURL(text) else { return end }
        // What cannot be read is not shown either: nobody knows where its password stands.
        guard let address = try? CouchDBAddress(parsing: text) else { return "…" }
        let user = end["auth"]?["basic"]?["username"]?.stringValue ?? address.user
        var shown: JSONValue = ["url": .string(address.url)]
        guard let user else { return end.stringValue == nil ? shown : .string(address.url) }
        shown["auth"] = ["basic": ["username": .string(user)]]
        return shown
    }

    /// What was written, where somebody writes it back as it was shown: the password of the same user at the same URL stays.
    static func keepingPassword(_ new: JSONValue, from old: JSONValue?) -> JSONValue {
        guard new["auth"]?["basic"]?["password"] == nil, let user = new["auth"]?["basic"]?["username"],
            let url = new["url"]?.stringValue, let old, let oldURL = old.stringValue ?? old["url"]?.stringValue,
            let address = try? CouchDBAddress(parsing: url), let oldAddress = try? CouchDBAddress(parsing: oldURL),
            address.url.utf8.elementsEqual(oldAddress.url.utf8)
        else { return new }
        let credentials =
            (old["auth"].flatMap { try? RESTRouter.credentials($0) }) ?? oldAddress.credentials
        guard let credentials, user == .string(credentials.user) else { return new }
        var kept = new
        kept["auth"] = ["basic": ["username": user, "password": .string(credentials.password)]]
        return kept
    }

    // MARK: In the file

    init(id: String, generation: UInt64, members: JSONObject) {
        self.id = id
        self.generation = generation
        self.members = members
        stateSeconds = WallClock.seconds
    }

    /// Reads what `stored` has written; nil for anything else.
    init?(_ value: JSONValue) {
        guard let id = value["id"]?.stringValue, let generation = value["generation"]?.uint64Value,
            let members = value["members"]?.objectValue,
            let state = value["state"]?.stringValue.flatMap(State.init(rawValue:)),
            let seconds = value["stateSeconds"]?.int64Value
        else { return nil }
        self.init(id: id, generation: generation, members: members)
        self.state = state
        reason = value["reason"]?.stringValue
        stateSeconds = seconds
    }

    var stored: JSONValue {
        JSONValue(object: [
            ("id", .string(id)), ("generation", JSONValue(generation)), ("members", .object(members)),
            ("state", .string(state.rawValue)), ("reason", JSONValue(optional: reason)),
            ("stateSeconds", JSONValue(stateSeconds)),
        ])
    }
}
