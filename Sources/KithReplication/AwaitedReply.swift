import KithWire

/// Who waits for the peer's answer to a request, and for how long it has been waited for.
struct AwaitedReply {
    /// What is done with a request that is not answered in time. One without ends the link.
    struct Patience {
        /// Whether the peer may first have to fetch attachments.
        let waitsForBlobs: Bool
        /// Goes on without the answer.
        let giveUp: () -> Void
        /// Takes the answer that comes after that.
        let takeLate: (BLIPMessage) -> Void
    }

    /// The collection that the request is about.
    let replicator: CollectionReplicator?
    /// Takes the answer.
    var handle: (BLIPMessage) -> Void
    var patience: Patience?
    /// How often the output had been empty when the request was queued: once more, and it has gone out.
    let emptied: UInt64
    /// Looks since the request went out, or since something came that shows that it is worked on.
    var looks = 0
    /// Whether nobody waits for the answer any more.
    var isGivenUp = false
}
