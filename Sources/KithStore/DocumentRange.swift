import KithDocuments

/// A part of a database's documents in the order of their IDs' bytes.
public struct DocumentRange: Sendable {
    /// The lowest ID, which need not be a document's and not even be a legal one; nil begins with the first.
    public var lowest: String?
    /// Whether a document that is named `lowest` belongs to the range.
    public var includesLowest: Bool
    /// The highest ID; nil ends with the last.
    public var highest: String?
    /// Whether a document that is named `highest` belongs to the range.
    public var includesHighest: Bool
    /// Whether the highest comes first.
    public var isDescending: Bool
    /// Whether documents whose winner is a tombstone belong to it.
    public var includesDeleted: Bool

    /// A range; without arguments all documents that are not deleted.
    public init(
        lowest: String? = nil, includesLowest: Bool = true, highest: String? = nil, includesHighest: Bool = true,
        isDescending: Bool = false, includesDeleted: Bool = false
    ) {
        self.lowest = lowest
        self.includesLowest = includesLowest
        self.highest = highest
        self.includesHighest = includesHighest
        self.isDescending = isDescending
        self.includesDeleted = includesDeleted
    }
}
