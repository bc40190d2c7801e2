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
    /// Grows with each change of what is told to others. Not in the file.
    var statementsVersion: UInt64 = 1

    mutating func set(_ peer: Peer) {
        remove(peer.id)
        if peer.revocation != nil {
            revoked[peer.id] = peer
        } else {
            byID[peer.id] = peer
            idByName[peer.name] = peer.id
        }
    }

    mutating func remove(_ id: NodeID) {
        revoked[id] = nil
        guard let old = byID.removeValue(forKey: id) else { return }
        idByName.removeValue(forKey: old.name)
    }
}
