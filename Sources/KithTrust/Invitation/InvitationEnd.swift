/// Why an exchange of an invitation code ended without a pair, as one side tells the other.
public enum InvitationEnd: String, Sendable, Hashable {
    /// There is no invitation open here, or it was used up.
    case none
    /// The code is not that of the invitation.
    case wrong
    /// Too many try at the same time.
    case busy
    /// It took too long.
    case expired
    /// A person gave up, or the code was used with another machine.
    case cancelled
    /// The other side does not keep to the protocol.
    case broken
    /// The peer could not be written into the book.
    case failed
}
