import KithDocuments

/// All users, and the text of the file that keeps them, format 1:
///
///     {"format": 1, "users": [{"name": "ann", "roles": ["staff"], "password": "scrypt$…"}]}
///
/// A user who is disabled has `"disabled": true`. The file decides who is let in, so reading is strict: what is not understood is
/// an error that names it.
public struct UserList: Hashable, Sendable {
    static let format = 1

    private var byName: [[UInt8]: User] = [:]

    /// Nobody.
    public init() {}

    /// In the order of the bytes of their names.
    public var users: [User] { byName.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.value) }

    /// The user of exactly this name.
    public func user(named name: String) -> User? { byName[Array(name.utf8)] }

    /// Adds a user, or replaces the one of the name.
    ///
    /// - Throws: `.tooLarge` when there are `AccessLimits.usersMax` already.
    public mutating func put(_ user: User) throws(KithError) {
        let key = Array(user.name.utf8)
        guard byName[key] != nil || byName.count < AccessLimits.usersMax else {
            throw KithError(.tooLarge, "there are \(AccessLimits.usersMax) users already")
        }
        byName[key] = user
    }

    /// - Returns: the user that was there.
    @discardableResult
    public mutating func remove(_ name: String) -> User? { byName.removeValue(forKey: Array(name.utf8)) }

    // MARK: File

    /// The text of the file.
    public func encoded() -> [UInt8] {
        let users = users.map { user -> JSONValue in
            var value: JSONValue = [
                "name": .string(user.name), "roles": .array(user.roles.map { .string($0) }),
                "password": .string(user.password.text),
            ]
            if user.isDisabled { value["disabled"] = true }
            return value
        }
        let value: JSONValue = ["format": JSONValue(Self.format), "users": .array(users)]
        return value.canonicalBytes() + [UInt8(ascii: "\n")]
    }

    /// Reads the text of the file.
    ///
    /// - Throws: `.newerFormat`, or `.damaged`, saying what is wrong; never with a password or its hash in it.
    public init(parsing bytes: [UInt8], path: String) throws(KithError) {
        func damaged(_ what: String) -> KithError {
            KithError(.damaged, "\(path) is not a list of users: \(what)", remedy: "Restore it from a backup")
        }
        guard let value = try? JSONValue(parsing: bytes), let format = value["format"]?.intValue else {
            throw damaged("it is no JSON object with a format")
        }
        guard format <= Self.format else {
            throw KithError(.newerFormat, "\(path) was written by a newer version of kith", remedy: "Use that version")
        }
        guard format == Self.format, let array = value["users"]?.arrayValue else { throw damaged("it has no users") }
        for (place, member) in array.enumerated() {
            let where_ = "user \(place + 1)"
            guard let object = member.objectValue, let name = object["name"]?.stringValue else {
                throw damaged("\(where_) has no name")
            }
            for (key, _) in object where !["name", "roles", "password", "disabled"].contains(key) {
                throw damaged("\(where_) has a member \"\(key.prefix(50))\" that is not known")
            }
            guard let password = object["password"]?.stringValue.flatMap(PasswordHash.init(text:)) else {
                throw damaged("\(where_) has no password that can be read")
            }
            let roles = object["roles"]?.arrayValue ?? []
            let texts = roles.compactMap(\.stringValue)
            guard texts.count == roles.count else { throw damaged("\(where_) has roles that are no texts") }
            guard user(named: name) == nil else { throw damaged("\(where_) is there twice") }
            let isDisabled = object["disabled"]?.boolValue
            guard object["disabled"] == nil || isDisabled != nil else {
                throw damaged("\(where_): disabled is no boolean")
            }
            do {
                try put(User(name: name, roles: texts, isDisabled: isDisabled ?? false, password: password))
            } catch {
                throw damaged("\(where_): \(error.message)")
            }
        }
    }
}
