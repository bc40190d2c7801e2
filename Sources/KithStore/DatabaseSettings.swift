/// What a database is set to, by whoever uses it; it lies in the file and holds for everybody who opens it.
public struct DatabaseSettings: Sendable, Equatable {
    /// Revisions of a document's history that are kept on each branch, the leaf included, at least 1: `revs_limit`. Older
    /// ones are forgotten with the document's next change.
    public var revisionsLimit: Int
    /// Whether bodies of superseded revisions stay until the database is compacted, for whoever merges or wants to look at
    /// them; each then costs its place on the disk, and each update one more row.
    public var keepsOldBodies: Bool
    /// What is done by itself about documents in conflict; what does it is `ConflictResolver`.
    public var mergePolicy: MergePolicy

    /// Settings.
    public init(
        revisionsLimit: Int = StoreLimits.revisionsLimitDefault, keepsOldBodies: Bool = false,
        mergePolicy: MergePolicy = .byHand
    ) {
        self.revisionsLimit = revisionsLimit
        self.keepsOldBodies = keepsOldBodies
        self.mergePolicy = mergePolicy
    }

    /// Whether bodies of superseded revisions are dropped with the write that supersedes them: whoever merges needs those
    /// from which the versions of a document parted.
    var dropsOldBodies: Bool { !keepsOldBodies && mergePolicy == .byHand }
}
