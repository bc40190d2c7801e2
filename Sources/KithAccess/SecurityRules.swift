import KithDocuments

/// Who may do what with a database: CouchDB's `_security`, with `readers` added.
///
///     {"admins": {"names": ["ann"], "roles": []}, "members": {"names": [], "roles": ["staff"]},
///      "readers": {"names": [], "roles": ["auditors"]}}
///
/// Admins may do everything with the database, members read and write, readers read. Where nobody is named as member or reader,
/// everybody may read and write, as in CouchDB. A database of which nothing was said is for administrators of the node alone.
public struct SecurityRules: Hashable, Sendable {
    /// Users and roles; of each at most `AccessLimits.rolesMax`.
    public struct Group: Hashable, Sendable {
        /// Users by their names.
        public var names: [String] = []
        /// Users by a role.
        public var roles: [String] = []

        var isEmpty: Bool { names.isEmpty && roles.isEmpty }

        func contains(_ principal: Principal) -> Bool {
            if let name = principal.name, names.contains(where: { AccessName.equal($0, name) }) { return true }
            return roles.contains(where: principal.has)
        }
    }

    /// May do everything with the database.
    public private(set) var admins = Group()
    /// May read and write.
    public private(set) var members = Group()
    /// May read.
    public private(set) var readers = Group()

    /// What holds for a database of which nothing was said.
    public static let unsaid: SecurityRules = {
        var rules = SecurityRules()
        rules.admins.roles = [AccessName.administrator]
        rules.members.roles = [AccessName.administrator]
        return rules
    }()

    private init() {}

    /// Reads the object that `_security` has; members of other names are left alone.
    ///
    /// - Throws: `.badRequest`, naming the member that is wrong.
    public init(_ object: JSONObject) throws(KithError) {
        admins = try Self.group(object["admins"], "admins")
        members = try Self.group(object["members"], "members")
        readers = try Self.group(object["readers"], "readers")
    }

    /// What somebody may do.
    public func access(of principal: Principal) -> DatabaseAccess {
        if principal.isServerAdministrator || admins.contains(principal) { return .administer }
        if members.contains(principal) { return .write }
        if readers.contains(principal) { return .read }
        return members.isEmpty && readers.isEmpty ? .write : .none
    }

    private static func group(_ value: JSONValue?, _ what: String) throws(KithError) -> Group {
        guard let value else { return Group() }
        guard let object = value.objectValue else { throw wrong(what, "must be a JSON object") }
        return Group(
            names: try list(object["names"], what + ".names"), roles: try list(object["roles"], what + ".roles"))
    }

    private static func list(_ value: JSONValue?, _ what: String) throws(KithError) -> [String] {
        guard let value else { return [] }
        guard let array = value.arrayValue else { throw wrong(what, "must be a list of texts") }
        guard array.count <= AccessLimits.rolesMax else {
            throw wrong(what, "has at most \(AccessLimits.rolesMax) members")
        }
        var texts: [String] = []
        for member in array {
            guard let text = member.stringValue else { throw wrong(what, "must be a list of texts") }
            guard text.utf8.count <= AccessLimits.nameBytesMax else {
                throw wrong(what, "has a name of more than \(AccessLimits.nameBytesMax) bytes")
            }
            texts.append(text)
        }
        return texts
    }

    private static func wrong(_ what: String, _ why: String) -> KithError {
        KithError(.badRequest, "\(what) of _security \(why)")
    }
}
