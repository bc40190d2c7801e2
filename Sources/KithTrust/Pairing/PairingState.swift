/// How far a pairing is.
public enum PairingState: Sendable, Hashable {
    /// Connected; the side that asks has not said yet who it is.
    case opening
    /// The person at the machine that was asked has to accept.
    case waiting
    /// The two machines exchange their randomness.
    case exchanging
    /// Both screens show the number, and this side's person is asked.
    case comparing(ComparisonNumber)
    /// This side's person has said that it is the same, the other's has not yet.
    case waitingForPeer(ComparisonNumber)
    /// Both have said so: the other is to be written into the book.
    case agreed
    /// The other is in this side's book, and this one soon in the other's.
    case stored
    /// Done. When not confirmed, the connection was lost before the other side said that it has this one in its book.
    case paired(isConfirmed: Bool)
    /// Over without a pair; nothing has changed on this side.
    case failed(PairingEnd, byPeer: Bool)
    /// Over without a pair, since the connection was lost.
    case lost

    /// Whether nothing more happens.
    public var isOver: Bool {
        switch self {
        case .paired, .failed, .lost: true
        case .opening, .waiting, .exchanging, .comparing, .waitingForPeer, .agreed, .stored: false
        }
    }
}
