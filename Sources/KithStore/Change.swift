import KithDocuments

/// A document that changed, as the list of changes tells it: each document once, with its latest sequence.
public struct Change: Sendable, Equatable {
    /// The sequence of the document's last change.
    public let sequence: UInt64
    /// The document.
    public let id: DocumentID
    /// All leaves, the winner first, then by the order that chooses the winner; never empty.
    public let leaves: [Leaf]

    /// A change.
    public init(sequence: UInt64, id: DocumentID, leaves: [Leaf]) {
        precondition(!leaves.isEmpty)
        self.sequence = sequence
        self.id = id
        self.leaves = leaves
    }

    /// The winner.
    public var winner: Leaf { leaves[0] }
}
