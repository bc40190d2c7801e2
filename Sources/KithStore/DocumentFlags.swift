/// What the column `flags` of a document says, so that its tree need not be read for it.
struct DocumentFlags: OptionSet {
    let rawValue: Int
    /// The winner is a tombstone.
    static let isDeleted = DocumentFlags(rawValue: 1)
    /// There is more than one leaf.
    static let hasBranches = DocumentFlags(rawValue: 2)
    /// There is more than one live leaf: the partial index `conflict_N` lists it.
    static let isInConflict = DocumentFlags(rawValue: 4)
    /// A revision whose body is kept has attachments: `blob_use` has rows of the document.
    static let hasAttachments = DocumentFlags(rawValue: 8)
    /// Bodies of superseded revisions are kept in the table `leaf`.
    static let hasOldBodies = DocumentFlags(rawValue: 16)
}

extension DocumentFlags {
    /// What the leaves say, the winner first.
    init(_ leaves: [Leaf]) {
        self = []
        if leaves[0].isDeleted { insert(.isDeleted) }
        if leaves.count > 1 { insert(.hasBranches) }
        if leaves.count(where: { !$0.isDeleted }) > 1 { insert(.isInConflict) }
    }
}
