import KithDocuments

/// One of many edits that are made at once: what `WriteTransaction.put` takes.
public struct DocumentEdit: Sendable, Equatable {
    /// What happens when an edit of several fails.
    public enum FailurePolicy: Sendable {
        /// None is made.
        case undoAll
        /// The others are made.
        case keepOthers
    }

    /// The document.
    public var id: DocumentID
    /// The text of a JSON object without reserved names, in any form.
    public var body: [UInt8]
    /// The leaf that it follows; nil if there is no document, or only a deleted one.
    public var parent: RevisionID?
    /// Whether it is a tombstone.
    public var isDeleted: Bool

    /// An edit.
    public init(id: DocumentID, body: [UInt8], parent: RevisionID? = nil, isDeleted: Bool = false) {
        self.id = id
        self.body = body
        self.parent = parent
        self.isDeleted = isDeleted
    }
}
