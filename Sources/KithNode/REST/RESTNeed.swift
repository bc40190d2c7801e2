import KithDocuments

/// What a request needs, by its method and its path alone.
///
/// This is the only place that says so. What stands in none of its tables needs administration of the node, so an
/// endpoint that somebody forgets here is shut.
struct RESTNeed: Sendable {
    let right: RESTRight
    /// The one that the right is to; nil for the node.
    let database: DatabaseName?

    /// - Parameter path: as the router gets it: decoded, without empty parts.
    init(method: String, path: [String]) {
        guard let first = path.first else {
            self.init(Self.server["/"]?[method])
            return
        }
        guard !first.hasPrefix("_") else {
            self.init(path.count == 1 ? Self.server[first]?[method] : nil)
            return
        }
        guard let name = try? KeyspaceName(first) else {
            self.init(nil)
            return
        }
        guard path.count > 1 else {
            let table = name.collection == .default ? Self.databaseItself : Self.collectionItself
            self.init(table[method], name.database)
            return
        }
        self.init(Self.below(method, path), name.database)
    }

    private init(_ right: RESTRight?, _ database: DatabaseName? = nil) {
        self.right = right ?? .server
        self.database = right == nil || right == .everybody ? nil : database
    }

    private static func below(_ method: String, _ path: [String]) -> RESTRight? {
        let endpoint = path[1]
        guard endpoint.hasPrefix("_") else { return documents[method] }
        // An ID may come as one part, with its slash as %2F, or as two.
        if endpoint == "_local" || endpoint.hasPrefix("_local/") { return localDocuments[method] }
        if endpoint == "_design" || endpoint.hasPrefix("_design/") { return designDocuments[method] }
        if endpoint == "_index" { return indexes[method] }
        return path.count == 2 ? special[endpoint]?[method] : nil
    }

    // MARK: The tables

    /// What is no database.
    static let server: [String: [String: RESTRight]] = [
        "/": ["GET": .everybody, "HEAD": .everybody],
        "_up": ["GET": .everybody, "HEAD": .everybody],
        "_session": ["GET": .everybody, "HEAD": .everybody, "POST": .everybody, "DELETE": .everybody],
        "_uuids": ["GET": .everybody, "HEAD": .everybody],
    ]
    /// `/DATABASE`; making and deleting it is the node's.
    static let databaseItself: [String: RESTRight] = ["GET": .read, "HEAD": .read, "POST": .write]
    /// `/DATABASE.COLLECTION`.
    static let collectionItself: [String: RESTRight] = [
        "GET": .read, "HEAD": .read, "POST": .write, "PUT": .administer,
    ]
    /// `/DATABASE/DOCUMENT` and its attachments.
    static let documents: [String: RESTRight] = [
        "GET": .read, "HEAD": .read, "PUT": .write, "DELETE": .write, "COPY": .copy,
    ]
    /// `/DATABASE/_local/NAME`: a replicator's checkpoints.
    static let localDocuments: [String: RESTRight] = ["GET": .read, "HEAD": .read, "PUT": .write, "DELETE": .write]
    /// `/DATABASE/_design/NAME`.
    static let designDocuments: [String: RESTRight] = [
        "GET": .read, "HEAD": .read, "PUT": .administer, "DELETE": .administer, "COPY": .administer,
    ]
    /// `/DATABASE/_index`, and what is below it.
    static let indexes: [String: RESTRight] = [
        "GET": .read, "HEAD": .read, "POST": .administer, "DELETE": .administer,
    ]
    /// `/DATABASE/_…`. `_backup`, `_check` and `_sync` reach files or other machines, `_explain?id=` and `_refusals` tell of
    /// peers: those are the node's. `_security` has the names of users.
    static let special: [String: [String: RESTRight]] = [
        "_all_docs": reading, "_design_docs": reading, "_changes": reading,
        "_find": ["POST": .read], "_explain": ["POST": .read],
        "_bulk_get": ["POST": .read], "_revs_diff": ["POST": .read], "_missing_revs": ["POST": .read],
        "_digest": ["GET": .read, "HEAD": .read],
        "_conflicts": ["GET": .read, "HEAD": .read, "POST": .write],
        "_ensure_full_commit": ["POST": .read],
        "_bulk_docs": ["POST": .write],
        "_local_docs": ["GET": .administer, "HEAD": .administer],
        "_security": ["GET": .administer, "HEAD": .administer, "PUT": .administer],
        "_revs_limit": ["GET": .read, "HEAD": .read, "PUT": .administer],
        "_settings": ["GET": .read, "HEAD": .read, "PUT": .administer],
        "_session": ["GET": .everybody, "HEAD": .everybody, "POST": .everybody, "DELETE": .everybody],
        "_purge": ["POST": .administer], "_compact": ["POST": .administer], "_view_cleanup": ["POST": .administer],
    ]
    private static let reading: [String: RESTRight] = ["GET": .read, "HEAD": .read, "POST": .read]
}
