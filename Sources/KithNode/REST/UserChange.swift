import KithAccess
import KithDocuments

/// What a request wants changed of a user: `password`, `roles`, `disabled`; what it does not name stays.
struct UserChange: Sendable {
    var password: [UInt8]?
    var roles: [String]?
    var isDisabled: Bool?

    /// - Throws: `.badRequest`, naming the member that is wrong or not known; `.badName` for what cannot be a role.
    init(_ object: JSONObject) throws(KithError) {
        for (name, value) in object {
            switch name {
            case "password":
                guard let text = value.stringValue else { throw KithError(.badRequest, "password must be a text") }
                password = Array(text.utf8)
            case "roles":
                roles = try Self.roles(value, name)
            case "disabled":
                guard let flag = value.boolValue else { throw KithError(.badRequest, "disabled must be true or false") }
                isDisabled = flag
            default:
                throw KithError(
                    .badRequest, "there is no \"\(name.prefix(100))\" of a user",
                    remedy: "There are password, roles and disabled")
            }
        }
    }

    /// Reads what Sync Gateway calls a user.
    ///
    /// - Returns: its `name`, where it is there, and what is changed of it.
    /// - Throws: as `init`; `.notImplemented` for channels.
    static func ofSyncGateway(_ object: JSONObject) throws -> (name: String?, change: UserChange) {
        var change = try UserChange(JSONObject())
        var given: String?
        for (name, value) in object {
            switch name {
            case "name":
                guard let text = value.stringValue else { throw KithError(.badRequest, "name must be a text") }
                given = text
            case "password", "disabled":
                let single = try UserChange(JSONObject([(name, value)]))
                change.password = single.password ?? change.password
                change.isDisabled = single.isDisabled ?? change.isDisabled
            case "admin_roles": change.roles = try roles(value, name)
            case "admin_channels":
                guard value == .null || value.arrayValue?.isEmpty == true else {
                    throw CouchDBError.notServed(
                        "there are no channels here", "Say in _security of the database what the user may do")
                }
            // What Sync Gateway works out itself.
            case "all_channels", "roles": break
            default: throw KithError(.badRequest, "there is no \"\(name.prefix(100))\" of a user here")
            }
        }
        return (given, change)
    }

    private static func roles(_ value: JSONValue, _ name: String) throws(KithError) -> [String] {
        let texts = value.arrayValue?.compactMap(\.stringValue)
        guard let texts, texts.count == value.arrayValue?.count else {
            throw KithError(.badRequest, "\(name) must be a list of texts")
        }
        for text in texts { try AccessName.check(role: text) }
        return texts
    }
}
