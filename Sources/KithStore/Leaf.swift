import KithDocuments

/// One end of a branch of a document's revision tree.
public struct Leaf: Sendable, Equatable {
    /// The revision.
    public let revision: RevisionID
    /// Whether it is a tombstone.
    public let isDeleted: Bool

    /// A leaf.
    public init(revision: RevisionID, isDeleted: Bool) {
        self.revision = revision
        self.isDeleted = isDeleted
    }
}
