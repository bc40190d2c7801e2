import KithStore

/// What became of a revision that the peer sent, and where its document was before.
public struct Insertion: Sendable {
    /// What the store did.
    public let outcome: InsertOutcome
    /// The sequence that the document had before; 0 when it was not there.
    public let previousSequence: UInt64

    /// An insertion.
    public init(outcome: InsertOutcome, previousSequence: UInt64) {
        self.outcome = outcome
        self.previousSequence = previousSequence
    }
}
