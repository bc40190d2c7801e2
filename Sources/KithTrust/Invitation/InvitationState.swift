/// How far the exchange of an invitation code is.
public enum InvitationState: Sendable, Hashable {
    /// Connected; the side that was invited has not said anything yet.
    case opening
    /// The invited side has the share of the other, which so says that it has an invitation open: it is to prove itself
    /// (`prove`), which lets the other side test one guess.
    case challenged
    /// This side waits for the other's proof; the invited side at first for its share.
    case proving
    /// The invited side has proved that it knows the code: the inviting side is to say what it offers (`offer`).
    case proved
    /// The inviting side has proved itself as well, and waits until the other has it in its book.
    case offered
    /// The other side is to be written into the book.
    case agreed
    /// The inviting side is in this side's book, and this one soon in the other's.
    case stored
    /// Done. When not confirmed, the connection was lost before the other side said that it has this one in its book.
    case paired(isConfirmed: Bool)
    /// Over without a pair; nothing has changed on this side. `triesLeft` is known after a wrong code.
    case failed(InvitationEnd, byPeer: Bool, triesLeft: Int?)
    /// Over without a pair, since the connection was lost.
    case lost

    /// Whether nothing more happens.
    public var isOver: Bool {
        switch self {
        case .paired, .failed, .lost: true
        case .opening, .challenged, .proving, .proved, .offered, .agreed, .stored: false
        }
    }
}
