import KithDocuments

/// What a user or a role may be called.
public enum AccessName {
    /// The role that may do everything on this node.
    public static let administrator = "_admin"

    /// The role of those who have not logged in.
    public static let guest = "_guest"

    /// - Throws: `.badName`, saying what is wrong with the name of a user: 1 to `AccessLimits.nameBytesMax` bytes, no control
    ///   character, no colon (RFC 7617 §2: it ends the name in Basic authentication), not beginning with `_`.
    public static func check(user name: String) throws(KithError) {
        try check(name, "user")
        guard !name.utf8.contains(UInt8(ascii: ":")) else {
            throw KithError(.badName, "the name of a user cannot have a colon in it")
        }
        guard name.utf8.first != UInt8(ascii: "_") else {
            throw KithError(.badName, "the name of a user cannot begin with _")
        }
    }

    /// - Throws: `.badName` for what cannot be a role: as for a user, with colons; of those that begin with `_` there is
    ///   `_admin` alone.
    public static func check(role name: String) throws(KithError) {
        try check(name, "role")
        guard name.utf8.first != UInt8(ascii: "_") || equal(name, administrator) else {
            throw KithError(.badName, "of the roles that begin with _ there is \(administrator) alone")
        }
    }

    /// Whether two names are the same bytes: names that only look alike are different users.
    static func equal(_ one: String, _ other: String) -> Bool { one.utf8.elementsEqual(other.utf8) }

    private static func check(_ name: String, _ what: String) throws(KithError) {
        guard 1...AccessLimits.nameBytesMax ~= name.utf8.count else {
            throw KithError(.badName, "the name of a \(what) has 1 to \(AccessLimits.nameBytesMax) bytes")
        }
        guard name.unicodeScalars.allSatisfy({ $0.value >= 0x20 && !(0x7f...0x9f).contains($0.value) }) else {
            throw KithError(.badName, "the name of a \(what) cannot have control characters in it")
        }
    }
}
