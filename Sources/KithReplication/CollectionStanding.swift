/// How one collection of a session stands, as far as the session's status tells it.
struct CollectionStanding: Equatable {
    /// Documents changed here that the peer has not acknowledged; `nil` when unknown.
    var toSend: Int?
    /// Documents changed at the peer that are not stored here; `nil` when unknown.
    var toReceive: Int?
    /// The sequence up to which everything is at the peer; `nil` when nothing is sent.
    var sentThrough: UInt64?
    /// Whether each side has everything of the other.
    var isIdle = false
    /// Whether the checkpoint, where there is one, is known.
    var isLoaded = true
}
