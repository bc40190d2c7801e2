import KithDocuments

/// Whether a revision is stored.
public enum RevisionLookup: Sendable, Equatable {
    /// It is the document's only leaf.
    case known
    /// It is one of these leaves, the winner first.
    case branch(leaves: [RevisionID])
    /// It is known and no leaf: an ancestor, perhaps one that was pruned. `leaf` is what supersedes it.
    case superseded(leaf: RevisionID)
    /// It is not; `ancestors` are revisions of the document with a lower generation, at most
    /// `StoreLimits.ancestorsMax`: leaves first, then the highest generation first.
    case missing(ancestors: [RevisionID])
}
