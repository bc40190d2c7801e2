/// The times by which links are made, watched and made again, each with its effect.
package enum LinkLimits {
    /// When nothing was received on a link for this long, the peer is asked for a sign of life. Any byte counts as one.
    package static let quietSeconds = 4.0
    /// A peer that was asked and from which nothing has come for this long is dead. It must be
    /// more than `quietSeconds`. Twice this is how soon a dead peer is found at the latest; see `LinkHeartbeat`.
    package static let answerSeconds = 6.0
    /// A look at the heartbeat that comes this much late means that this node stood still, and says nothing about the peer: it
    /// is asked once more.
    package static let oversleptSeconds = 1.0
    /// Shortest wait before dialling again. The wait doubles with each failure, and a random part is added so that many nodes
    /// that come back together do not dial together.
    package static let redialSecondsMin = 1.0
    /// Longest wait before dialling again, unless discovery or the network says sooner that it is worth it.
    package static let redialSecondsMax = 120.0
    /// How much later the node with the greater ID dials, so that one link is made and not two.
    package static let courtesySeconds = 1.5
    /// For each place without a link, dialling at once may take this much longer, at random: one peer that comes back is dialled
    /// at once, and thirty that come back together within three seconds.
    package static let spreadSecondsPerLink = 0.1
    /// At most this much longer, however many places there are.
    package static let spreadSecondsMax = 60.0
    /// After words of discovery or the network that led nowhere a further one is followed only this long after the last dial; it
    /// doubles from `redialSecondsMin` with each of them. It bounds what somebody can cause who announces a peer that is not there.
    package static let hurrySecondsMax = 30.0
    /// A link that has lived for this long was a good one: the back-off after it begins anew.
    package static let provenSeconds = 30.0
}
