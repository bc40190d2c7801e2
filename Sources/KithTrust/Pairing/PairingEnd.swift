/// Why pairing ended without a pair, as one side tells the other.
public enum PairingEnd: String, Sendable, Hashable {
    /// A person did not want to pair with the one that asked.
    case declined
    /// A person saw that the screens show different numbers: someone may be in the middle.
    case different
    /// A person gave up, or a program was stopped.
    case cancelled
    /// Nobody answered in time.
    case expired
    /// Too many ask at the same time.
    case busy
    /// The other side does not keep to the protocol, or is not bound to what it sent first.
    case broken
    /// The peer could not be written into the book.
    case failed
}
