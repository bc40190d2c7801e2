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
                let texts = value.arrayValue?.compactMap(\.stringValue)
                guard let texts, texts.count == value.arrayValue?.count else {
                    throw KithError(.badRequest, "roles must be a list of texts")
                }
                for text in texts { try AccessName.check(role: text) }
                roles = texts
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
}
