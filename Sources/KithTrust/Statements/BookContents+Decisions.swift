import KithDocuments

// What a person at this node decides about those who are revoked.

extension BookContents {
    /// A person here revokes a peer. Its entry stays, so that it can be shown and restored.
    ///
    /// It is cut off and told in every case. When this node has said as many as are told, the oldest is told no more, first one
    /// about somebody who is not in the book; what it has done stays done.
    ///
    /// - Parameter statement: what this node says about it.
    /// - Throws: `.notFound`.
    mutating func revoke(_ id: NodeID, _ statement: TrustStatement, _ ownIDs: [NodeID]) throws(KithError) -> Peer {
        guard var peer = byID[id] ?? revoked[id] else { throw PeerBook.noPeer(id) }
        statements.removeAll { $0.revoked == id && ownIDs.contains($0.signer) }
        let own = statements.indices.filter { statements[$0].revoked != nil && ownIDs.contains(statements[$0].signer) }
        if own.count >= TrustLimits.revocationsBySignerMax {
            let isAboutNobody = { (index: Int) in !self.isKnown(self.statements[index].revoked, ownIDs) }
            statements.remove(at: own.first(where: isAboutNobody) ?? own[0])
        } else if statements.count >= TrustLimits.statementsMax {
            let isOthers = { (other: TrustStatement) in other.revoked != nil && !ownIDs.contains(other.signer) }
            let oldest =
                statements.firstIndex { isDispensable($0, ownIDs) } ?? statements.firstIndex(where: isOthers)
            if let oldest { statements.remove(at: oldest) }
        }
        statements.append(statement)
        peer.revocation = revocation(statement, ownIDs)
        set(peer)
        return peer
    }

    /// The time of a new revocation of a node by this one: later than any before, whatever the clock says.
    func nextSeconds(revoking id: NodeID, atSeconds now: Int64, _ ownIDs: [NodeID]) -> Int64 {
        let said = statements.filter { $0.revoked == id && ownIDs.contains($0.signer) }.map(\.seconds)
        let overruled = overruled.filter { $0.of == id && ownIDs.contains($0.by) }.map(\.seconds)
        return max(max(0, now), ((said + overruled).max() ?? -1) + 1)
    }

    /// Overrules everything that has been said against a peer up to now. What this node has said itself it says no more.
    mutating func overrule(allOf peer: Peer, _ ownIDs: [NodeID]) {
        var isStored = false
        for statement in statements {
            guard let subject = statement.revoked, peer.has(subject) else { continue }
            let by = machine(statement.signer, ownIDs)
            overrule(by: by, of: subject, statement.seconds, ownIDs)
            if let revocation = peer.revocation, revocation.seconds == statement.seconds {
                isStored = isStored || machine(revocation.by, ownIDs) == by
            }
        }
        // Also what has revoked it and is not kept, since who has said it is in the book no more, or there was no room.
        if let revocation = peer.revocation, !isStored {
            for id in [peer.id] + peer.formerIDs {
                overrule(by: machine(revocation.by, ownIDs), of: id, revocation.seconds, ownIDs)
            }
        }
        statements.removeAll { ($0.revoked.map(peer.has) ?? false) && ownIDs.contains($0.signer) }
        // Nothing is said of them any more: the oldest go first.
        overruled.removeFirst(max(0, overruled.count - TrustLimits.statementsMax))
    }

    private mutating func overrule(by: NodeID, of subject: NodeID, _ seconds: Int64, _ ownIDs: [NodeID]) {
        guard !isOverruled(by: by, of: subject, seconds, ownIDs) else { return }
        overruled = overruled.filter { $0.of != subject || machine($0.by, ownIDs) != by }
        overruled.append(RevocationOverrule(by: by, of: subject, seconds: seconds))
    }

    /// Whether a person has overruled what a machine has said of a node, whatever key it said it with.
    func isOverruled(by: NodeID, of subject: NodeID, _ seconds: Int64, _ ownIDs: [NodeID]) -> Bool {
        overruled.contains { $0.of == subject && $0.seconds >= seconds && machine($0.by, ownIDs) == by }
    }

    /// A person trusts somebody who was not in the book: what was said against him before is overruled and kept no more. It had
    /// no effect here, so it is no first word that would count for more than what he says himself.
    mutating func welcome(_ peer: Peer, _ ownIDs: [NodeID]) {
        overrule(allOf: peer, ownIDs)
        statements.removeAll { $0.revoked.map(peer.has) ?? false }
    }

    /// Looks whether a person can trust this key.
    ///
    /// - Throws: `.conflict` when it is one that a peer has had, or this node itself.
    func checkKey(_ id: NodeID, _ ownIDs: [NodeID]) throws(KithError) {
        guard !ownIDs.contains(id) else {
            throw KithError(
                .conflict, "\(id.short) is this node's own key, or was: whoever else has it, has a copy of it")
        }
        guard let peer = formerOwner(of: id) else { return }
        throw KithError(
            .conflict, "\(id.short) is a key that \(peer.name) has replaced by another, so it is good no more",
            remedy:
                "Make a new home on that machine; or, if \(peer.name) is gone, first type: kith untrust \(peer.id.short)"
        )
    }

    /// The peer that had a key before the one that it has now, also when it is revoked.
    func formerOwner(of id: NodeID) -> Peer? {
        trusted(formerly: id) ?? revoked(formerly: id)
    }

    /// Trusts a revoked peer again.
    mutating func restore(_ id: NodeID, name: String, _ ownIDs: [NodeID]) throws(KithError) -> Peer {
        guard var peer = revoked[id] else { throw PeerBook.noPeer(id) }
        if let other = idByName[name] {
            throw KithError(
                .nameTaken, "the name '\(name)' belongs to the peer \(other.short) now",
                remedy: "Give it another name with --name")
        }
        try checkKey(id, ownIDs)
        overrule(allOf: peer, ownIDs)
        peer.revocation = nil
        peer.name = name
        set(peer)
        return peer
    }

    /// Forgets what a peer has said against this node: it trusts this node.
    mutating func forgive(_ peer: Peer, _ ownIDs: [NodeID]) {
        statements.removeAll { statement in
            peer.has(statement.signer) && statement.revoked.map(ownIDs.contains) ?? false
        }
    }

    /// Forgets what a peer has said, since it is in the book no more.
    mutating func forgetStatements(by peer: Peer) { statements.removeAll { peer.has($0.signer) } }
}
