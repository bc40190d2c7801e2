/// What somebody may do with a database; each includes what comes before it.
public enum DatabaseAccess: Int, Comparable, Sendable {
    /// Nothing, and it is not said whether it is there.
    case none
    case read
    case write
    /// Also change `_security`, write design documents, compact and purge.
    case administer

    /// Whether `b` may do more.
    public static func < (a: DatabaseAccess, b: DatabaseAccess) -> Bool { a.rawValue < b.rawValue }
}
