/// What the book of peers holds; `byID` and `idByName` always say the same.
struct BookContents: Sendable, Equatable {
    /// Those that are trusted.
    var byID: [NodeID: Peer] = [:]
    /// Keyed by the name as Swift compares text: two names that look the same (composed and decomposed letters) are
    /// one name here, on purpose, since people choose by eye.
    var idByName: [String: NodeID] = [:]
    /// Those that were trusted and are revoked; never also in `byID`. Their names may be given to others.
    var revoked: [NodeID: Peer] = [:]
    /// What nodes have said of keys, in the order in which it came.
    var statements: [TrustStatement] = []
    /// What of that a person here has overruled.
    var overruled: [RevocationOverrule] = []
    /// Who has each former ID: almost always one.
    private var ownersOfFormer: [NodeID: Set<NodeID>] = [:]
    /// How often those who revoke may still say again, with a later time, what they have said. Not in the file.
    var redatings: [NodeID: TokenBucket] = [:]
    /// Grows with each change of what is told to others. Not in the file.
    var statementsVersion: UInt64 = 1

    mutating func set(_ peer: Peer) {
        remove(peer.id)
        for id in peer.formerIDs { ownersOfFormer[id, default: []].insert(peer.id) }
        if peer.revocation != nil {
            revoked[peer.id] = peer
        } else {
            byID[peer.id] = peer
            idByName[peer.name] = peer.id
        }
    }

    mutating func remove(_ id: NodeID) {
        for former in (byID[id] ?? revoked[id])?.formerIDs ?? [] {
            ownersOfFormer[former]?.remove(id)
            if ownersOfFormer[former]?.isEmpty ?? false { ownersOfFormer[former] = nil }
        }
        revoked[id] = nil
        guard let old = byID.removeValue(forKey: id) else { return }
        idByName.removeValue(forKey: old.name)
    }

    /// The peer that is trusted and had a key before the one that it has now.
    func trusted(formerly id: NodeID) -> Peer? { ownersOfFormer[id]?.lazy.compactMap { byID[$0] }.first }

    /// The peer that is revoked and had a key before the one that it has now.
    func revoked(formerly id: NodeID) -> Peer? { ownersOfFormer[id]?.lazy.compactMap { revoked[$0] }.first }

    /// The peer that is trusted and has or had a key.
    func trusted(having id: NodeID) -> Peer? { byID[id] ?? trusted(formerly: id) }

    /// The peer that is revoked and has or had a key.
    func revoked(having id: NodeID) -> Peer? { revoked[id] ?? revoked(formerly: id) }

    /// Whether a signer may say anew what it has said, with a later time: each is written and told to all.
    mutating func mayRedate(_ signer: NodeID, atSeconds now: Double) -> Bool {
        if redatings.count > byID.count { redatings = redatings.filter { byID[$0.key] != nil } }
        return redatings[
            signer,
            default: TokenBucket(
                capacity: TrustLimits.redatingsMax, secondsPerToken: TrustLimits.redatingSeconds, atSeconds: now)
        ].take(atSeconds: now)
    }
}
