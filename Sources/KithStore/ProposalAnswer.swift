import KithDocuments

/// What a proposal meets.
public enum ProposalAnswer: Sendable, Equatable {
    /// It makes no conflict.
    case acceptable
    /// The revision is here already.
    case known
    /// It would begin another branch beside this winner.
    case conflict(winner: RevisionID)
}
