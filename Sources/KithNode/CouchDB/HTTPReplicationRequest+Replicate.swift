import KithDocuments
import KithReplication
import KithStore
import KithTransport
import KithTrust

/// What `_replicate` and the documents of `_replicator` say.
extension HTTPReplicationRequest {
    /// Members that change how fast CouchDB works, and not what is replicated.
    private static let tuning: Set<String> = [
        "batch_size", "checkpoint_interval", "connection_timeout", "http_connections", "retries_per_request",
        "socket_options", "use_bulk_get", "use_checkpoints", "worker_batch_size", "worker_processes",
    ]
    /// Members of a document that are not about the replication itself.
    private static let ofDocument: Set<String> = ["cancel", "owner", "replication_id", "user_ctx"]

    /// Reads CouchDB's `{"source": …, "target": …}`: one of both is a database here, and the other one the URL of a server's.
    ///
    /// - Throws: `.badRequest` saying what is wrong, `.notImplemented` for what CouchDB has and this node has not.
    init(couchDB members: JSONObject) throws(KithError) {
        let source = try Self.end("source", members["source"])
        let target = try Self.end("target", members["target"])
        switch (source, target) {
        case (.here(let name), .there(let address, let credentials)):
            self.init(database: name, address: address, directions: .send)
            self.credentials = credentials
        case (.there(let address, let credentials), .here(let name)):
            self.init(database: name, address: address, directions: .receive)
            self.credentials = credentials
        default:
            throw KithError(
                .notImplemented, "one of source and target must be a database of this node, and the other one a URL",
                remedy: "Databases of one node need not be replicated; let one of two servers do it between them")
        }
        for (name, value) in members {
            switch name {
            case "source", "target": break
            case "continuous": isContinuous = try RESTRouter.flag(name, value)
            case "create_target": createsTarget = try RESTRouter.flag(name, value)
            case "doc_ids": if value != .null { documentIDs = try RESTRouter.documentIDs(value) }
            case "selector":
                guard directions == .receive else {
                    throw KithError(.notImplemented, "a selector is for what is received only")
                }
                guard value.objectValue != nil else { throw KithError(.badRequest, "selector must be an object") }
                selector = value
            case "ca_file":
                guard let path = value.stringValue, path.hasPrefix("/") else {
                    throw KithError(.badRequest, "ca_file must be the whole path of a file")
                }
                authorityFile = path
            case _ where Self.tuning.contains(name) || Self.ofDocument.contains(name) || name.hasPrefix("_"): break
            default:
                throw KithError(.notImplemented, "\"\(name.prefix(100))\" of a replication is not known here")
            }
        }
        guard documentIDs == nil || selector == nil else {
            throw KithError(.badRequest, "doc_ids and selector exclude each other")
        }
    }

    private enum End {
        case here(DatabaseName)
        case there(CouchDBAddress, HTTPCredentials?)
    }

    /// A name, a URL, or `{"url": …, "auth": …}`.
    private static func end(_ member: String, _ value: JSONValue?) throws(KithError) -> End {
        guard let text = value?.stringValue ?? value?["url"]?.stringValue else {
            throw KithError(.badRequest, "\(member) must be the name of a database, a URL, or an object with url")
        }
        for (name, _) in value?.objectValue ?? JSONObject() where name != "url" && name != "auth" {
            throw KithError(
                .notImplemented, "\"\(name.prefix(100))\" of \(member) is not known here",
                remedy: "Give a user and a password as auth: {\"basic\": {\"username\": …, \"password\": …}}")
        }
        guard CouchDBAddress.isURL(text) else { return .here(try DatabaseName(text)) }
        let address = try CouchDBAddress(parsing: text)
        if let auth = value?["auth"] { return .there(address, try RESTRouter.credentials(auth)) }
        guard address.user == nil || address.hasPassword else {
            throw KithError(.badRequest, "there is no password for the user of \(member)")
        }
        return .there(address, address.credentials)
    }

    /// The name of the checkpoint of one direction, and of the replication itself: the same for the same replication, and for no
    /// other. Another copy of the database, another URL, user or choice of documents begins at the beginning. It is a hash with the
    /// copy's private ID in it, so nobody learns anything from it.
    func checkpointName(_ direction: ReplicationDirections, of database: Database) -> String {
        let documents = documentIDs.map { JSONValue.array($0.sorted().map { .string($0.text) }) } ?? .null
        let user = credentials?.user ?? address.user
        let parts: JSONValue = .array([
            .string("kith-couchdb-1"), .string(database.privateID), .string(address.url),
            user.map { .string($0) } ?? .null, .string(direction.name), documents, selector ?? .null,
        ])
        return "kith-" + ContentDigest.hex(parts.canonicalBytes()).prefix(40)
    }
}
