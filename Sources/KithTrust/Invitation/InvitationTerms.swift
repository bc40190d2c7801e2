import KithDocuments

/// What an invitation lets the other machine do.
public struct InvitationTerms: Sendable, Hashable {
    /// The databases that it may see; none named: every database that both have.
    public var databases: [DatabaseName]
    /// What it may do with them.
    public var access: PeerAccess

    /// Databases that one invitation may name: their names go over the wire in one message.
    public static let databasesMax = 16
    /// The longest JSON text of the terms, in bytes.
    static let bytesMax = 640

    /// Makes terms.
    ///
    /// - Parameters:
    ///   - databases: those that are shared; empty for all.
    ///   - access: `.both`, `.read` or `.write`.
    /// - Throws: `.tooLarge` when the names are too many or too long; `.badRequest` for an access of nothing.
    public init(databases: [DatabaseName] = [], access: PeerAccess = .both) throws(KithError) {
        self.databases = databases
        self.access = access
        guard access != .noAccess else { throw KithError(.badRequest, "an invitation to nothing is none") }
        guard databases.count <= Self.databasesMax, json.canonicalBytes().count <= Self.bytesMax else {
            throw KithError(
                .tooLarge, "an invitation cannot name so many databases",
                remedy: "Name \(Self.databasesMax) at most, and say the others with kith peers set")
        }
    }

    /// The terms as the other machine is told them.
    public var json: JSONValue {
        var value: JSONValue = ["access": .string(access.rawValue)]
        if !databases.isEmpty { value["databases"] = .array(databases.map { .string($0.text) }) }
        return value
    }

    /// How all databases of which nothing else is said are shared then.
    public var sharing: PeerSharing {
        if databases.isEmpty { return PeerSharing(access: access == .both ? nil : access) }
        return PeerSharing(access: .noAccess)
    }

    /// How single databases are shared then.
    public var databaseSharing: [DatabaseName: PeerSharing] {
        Dictionary(databases.map { ($0, PeerSharing(access: access)) }) { first, _ in first }
    }
}
