import KithDocuments
import KithTrust

/// What nodes that the site's authority has let in may do here, as the configuration says it; nothing where it says nothing.
public struct SiteGrants: Sendable, Equatable {
    /// What they may do with databases that are not named.
    public var access = PeerAccess.noAccess
    /// What they may do with single databases.
    public var databases: [DatabaseName: PeerAccess] = [:]

    /// Grants nothing.
    public init() {}

    /// Adds what may be done with a database, `*` for all that are not named.
    ///
    /// - Parameter access: `both`, `read`, `write` or `none`.
    /// - Throws: `badConfiguration` for another word; `badName` for a name that no database can have.
    public mutating func add(_ database: String, _ access: String) throws(KithError) {
        guard let access = PeerAccess(rawValue: access) else {
            throw KithError(
                .badConfiguration,
                "what nodes of the site may do with \"\(database)\" must be both, read, write or none")
        }
        guard database != "*" else { return self.access = access }
        guard databases.count < TrustLimits.sharedDatabasesPerPeerMax else {
            throw KithError(.badConfiguration, "more than \(TrustLimits.sharedDatabasesPerPeerMax) databases are named")
        }
        databases[try DatabaseName(database)] = access
    }

    /// Reads the value of `site` in `config.json`: `{"databases": {"notes": "both", "*": "read"}}`.
    init(_ value: JSONValue) throws(KithError) {
        guard let object = value.objectValue, object.names.allSatisfy({ $0 == "databases" }),
            let list = (value["databases"] ?? [:]).objectValue
        else { throw KithError(.badConfiguration, "\"site\" must be {\"databases\": {NAME: ACCESS}}") }
        for (name, value) in list { try add(name, value.stringValue ?? "") }
    }

    var json: JSONValue {
        var members = databases.sorted { $0.key < $1.key }.map { ($0.key.text, JSONValue.string($0.value.rawValue)) }
        if access != .noAccess { members.append(("*", .string(access.rawValue))) }
        return ["databases": JSONValue(object: members)]
    }
}
