/// What became of a revision made elsewhere.
public enum InsertOutcome: Sendable, Equatable {
    /// The document changed and has this sequence now.
    case inserted(sequence: UInt64)
    /// All of it was there already; nothing changed.
    case alreadyPresent
}
