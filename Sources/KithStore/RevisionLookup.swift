import KithDocuments

/// Whether a revision is stored.
public enum RevisionLookup: Sendable, Equatable {
    /// It is in the document's tree: as a leaf, or as an ancestor whose body may be gone.
    case known
    /// It is not; `ancestors` are revisions of the document with a lower generation, at most
    /// `StoreLimits.ancestorsMax`: leaves first, then the highest generation first.
    case missing(ancestors: [RevisionID])
}
