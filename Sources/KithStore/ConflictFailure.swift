import KithDocuments

/// A conflict that could not be resolved by itself.
public struct ConflictFailure: Sendable {
    /// The collection.
    public let collection: CollectionName
    /// The document.
    public let id: DocumentID
    /// Why, and what to do.
    public let error: KithError
    /// Whether it is tried again although the document does not change.
    public let isRetried: Bool
}
