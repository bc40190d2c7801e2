import KithDocuments

/// Which changes are asked for, and how much of each.
///
/// ```swift
/// var query = ChangesQuery(since: 4_711)
/// query.style = .winners
/// query.includesBodies = true
/// try database.read { try $0.forEachChange(query) { change in show(change); return true } }
/// ```
public struct ChangesQuery: Sendable, Equatable {
    /// Which leaves of a document are listed.
    public enum Style: Sendable {
        /// The winner only, also when that is a tombstone.
        case winners
        /// All leaves, the winner first.
        case allLeaves
    }

    /// Changes up to this sequence are left out, whatever the order.
    public var since: UInt64
    /// Changes beyond this sequence are left out; nil for none.
    public var through: UInt64?
    /// How many documents are listed at most.
    public var limit: Int
    /// Whether the newest comes first. `Database.changes` follows what comes and does not look at it.
    public var isDescending: Bool
    /// Which leaves of a document are listed.
    public var style: Style
    /// Whether the bodies of the listed leaves come with them.
    public var includesBodies: Bool
    /// Only these documents; nil means all. The cost grows with their number then, not with the database.
    public var documentIDs: [DocumentID]?

    /// A query; without arguments all changes, the oldest first, with all leaves and without bodies.
    public init(
        since: UInt64 = 0, through: UInt64? = nil, limit: Int = .max, isDescending: Bool = false,
        style: Style = .allLeaves,
        includesBodies: Bool = false, documentIDs: [DocumentID]? = nil
    ) {
        self.since = since
        self.through = through
        self.limit = limit
        self.isDescending = isDescending
        self.style = style
        self.includesBodies = includesBodies
        self.documentIDs = documentIDs
    }
}
