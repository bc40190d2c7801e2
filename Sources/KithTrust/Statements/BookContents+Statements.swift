import KithDocuments

// Which statements count, and what follows from them. docs/SECURITY.md has the reasons.

extension BookContents {
    /// What comes of a statement.
    enum Reception {
        /// Something has changed, or a person should know; `nil` when nothing that concerns anybody here.
        case taken(StatementEffect?)
        /// It counts, and its signer has said the like too often in a short time: it is to be shown again later.
        case later(TrustStatement)
    }

    /// Takes one statement of another node, if it counts.
    ///
    /// A revocation counts when its signer is trusted here, by the key that it has now, and may write. A rotation counts
    /// when the old key is trusted here, or the new one: then it says which keys that peer had before. Nothing counts that is said in this
    /// node's own name, by whatever key it has or had: it knows itself what it has said. What does not count leaves everything
    /// as it was, and its signatures are not looked at.
    ///
    /// - Parameters:
    ///   - ownIDs: this node's ID, and then those that it had before.
    ///   - isQuiet: nothing more is wanted of what this signer does that changes nothing and a person should know.
    ///   - seconds: now, of a clock that does not go back.
    /// - Throws: `.notTrusted` when it would count and a signature is wrong.
    mutating func receive(
        _ outline: StatementOutline, ownIDs: [NodeID], isQuiet: Bool, atSeconds seconds: Double
    ) throws(KithError) -> Reception {
        switch outline.content {
        case .revocation(let subject, _): try receiveRevocation(outline, of: subject, ownIDs, isQuiet, seconds)
        case .rotation(let next): .taken(try receiveRotation(outline, to: next, ownIDs, isQuiet))
        }
    }

    // MARK: Revocations

    private mutating func receiveRevocation(
        _ outline: StatementOutline, of subject: NodeID, _ ownIDs: [NodeID], _ isQuiet: Bool, _ now: Double
    ) throws(KithError) -> Reception {
        // Who has a key of this node, the present one or a former one, decides nothing here in its name.
        guard !ownIDs.contains(outline.signer), let signer = byID[outline.signer] else { return .taken(nil) }
        // Who may not revoke others may still say so of this node, which is then shown.
        guard mayRevoke(signer.id) || ownIDs.contains(subject) else { return .taken(nil) }
        let same = statements.firstIndex { $0.revoked == subject && signer.has($0.signer) }
        if let same, statements[same].seconds >= outline.seconds {
            // The same under the signer's newer key takes the place of the old one, so that it can be passed on.
            guard statements[same].seconds == outline.seconds, statements[same].signer != signer.id else {
                return .taken(nil)
            }
        }
        if isOverruled(by: signer.id, of: subject, outline.seconds, ownIDs) { return .taken(nil) }
        let isOwn = ownIDs.contains(subject)
        let peer = isOwn ? nil : trusted(having: subject)
        // Of two that revoke each other the first one counts, also when a person has overruled it since.
        let other = peer ?? (isOwn ? nil : revoked(having: subject))
        let isSecond = statements.contains { first in
            (first.revoked.map(signer.has) ?? false)
                && (isOwn ? ownIDs.contains(first.signer) : other?.has(first.signer) ?? (first.signer == subject))
        }
        if isSecond, other?.id != signer.id {
            guard let peer, !isQuiet else { return .taken(nil) }
            _ = try outline.verified()
            return .taken(.unheeded(peer, by: signer))
        }
        let room = same.map { Room.replacing($0) } ?? room(for: subject, by: signer, ownIDs)
        // What there is no room for takes effect all the same; it is only not passed on.
        if case .full = room, peer == nil { return .taken(nil) }
        let statement = try outline.verified()
        if let same, statements[same].seconds < statement.seconds, !mayRedate(signer.id, atSeconds: now) {
            return .later(statement)
        }
        store(statement, room)
        return .taken(isOwn ? .ownRevocation(by: signer.name) : applyRevocation(statement, ownIDs))
    }

    /// Whether a node's word cuts off others: it is trusted, and may write here in general. A guest that may only read, or has
    /// only certain databases, has no say; nor has one that the site's authority has let in, whose list of revocations is for that.
    func mayRevoke(_ id: NodeID) -> Bool {
        if byID[id]?.pairedBy == .site { return false }
        return switch byID[id]?.sharing.access ?? .both {
        case .both, .write: byID[id] != nil
        case .read, .noAccess: false
        }
    }

    /// Cuts off the peer that a statement is about, if there is one.
    private mutating func applyRevocation(_ statement: TrustStatement, _ ownIDs: [NodeID]) -> StatementEffect? {
        guard let subject = statement.revoked,
            var peer = trusted(having: subject)
        else { return nil }
        peer.revocation = revocation(statement, ownIDs)
        set(peer)
        return .revoked(peer)
    }

    func revocation(_ statement: TrustStatement, _ ownIDs: [NodeID]) -> PeerRevocation {
        let by = machine(statement.signer, ownIDs)
        let name = ownIDs.contains(by) ? nil : (byID[by] ?? revoked[by])?.name ?? by.short
        return PeerRevocation(by: by, byName: name, seconds: statement.seconds, reason: statement.reason)
    }

    // MARK: Rotations

    private mutating func receiveRotation(
        _ outline: StatementOutline, to next: NodeID, _ ownIDs: [NodeID], _ isQuiet: Bool
    ) throws(KithError) -> StatementEffect? {
        let old = outline.signer
        if ownIDs.contains(old) || ownIDs.contains(next) {
            // This node knows its own keys; a successor of the one that it has now is somebody else's.
            guard old == ownIDs.first, !isQuiet else { return nil }
            _ = try outline.verified()
            return .ownKeyReplaced(by: next)
        }
        if let peer = trusted(formerly: old) {
            let known = statements.contains { $0.signer == old && $0.successor == next }
            guard !known, !peer.has(next), !isQuiet else { return nil }
            _ = try outline.verified()
            return .twoSuccessors(peer, other: next)
        }
        if let peer = byID[old] { return try follow(peer, outline, to: next, ownIDs) }
        // Somebody who was paired by a newer key: which ones it had before.
        guard var peer = trusted(having: next), !peer.has(old),
            peer.formerIDs.count < TrustLimits.formerKeysMax
        else { return nil }
        let statement = try outline.verified()
        store(statement, room(for: nil, by: peer, ownIDs))
        peer.formerIDs.insert(old, at: 0)
        set(peer)
        return hit(peer, old, ownIDs)
    }

    /// A peer goes on under another key.
    private mutating func follow(
        _ peer: Peer, _ outline: StatementOutline, to next: NodeID, _ ownIDs: [NodeID]
    ) throws(KithError) -> StatementEffect? {
        // A key that somebody has had never becomes good again.
        guard formerOwner(of: next) == nil, !ownIDs.contains(next),
            peer.formerIDs.count < TrustLimits.formerKeysMax
        else { return nil }
        let statement = try outline.verified()
        store(statement, room(for: nil, by: peer, ownIDs))
        var changed = peer
        remove(peer.id)
        if let other = byID[next] ?? revoked[next] {
            // A person has paired the new key before the statement came: that entry stays.
            changed = other
            changed.formerIDs = peer.formerIDs + [peer.id] + other.formerIDs
        } else {
            changed.id = next
            changed.formerIDs.append(peer.id)
        }
        changed.formerIDs = Array(changed.formerIDs.suffix(TrustLimits.formerKeysMax))
        set(changed)
        for index in overruled.indices {
            if overruled[index].by == peer.id { overruled[index].by = next }
        }
        for id in Array(revoked.keys) {
            if revoked[id]?.revocation?.by == peer.id { revoked[id]?.revocation?.by = next }
        }
        guard changed.revocation == nil else { return .revoked(changed) }
        if let effect = hit(changed, next, ownIDs) { return effect }
        return .rotated(from: peer, to: changed)
    }

    /// Revokes a peer if a key that it turned out to have, or have had, is revoked.
    private mutating func hit(_ peer: Peer, _ id: NodeID, _ ownIDs: [NodeID]) -> StatementEffect? {
        let statement = statements.last { statement in
            let by = machine(statement.signer, ownIDs)
            return statement.revoked == id && (ownIDs.contains(by) || mayRevoke(by))
                && !isOverruled(by: by, of: id, statement.seconds, ownIDs)
        }
        if let effect = statement.flatMap({ applyRevocation($0, ownIDs) }) { return effect }
        // The machine is revoked here, by what is not kept any more.
        let other = revoked(having: id)
        guard let revocation = other?.revocation, var peer = byID[peer.id] else { return nil }
        peer.revocation = revocation
        set(peer)
        return .revoked(peer)
    }

    // MARK: What is told

    /// The ID that the machine with a key has now.
    func machine(_ id: NodeID, _ ownIDs: [NodeID]) -> NodeID {
        if let own = ownIDs.first, ownIDs.contains(id) { return own }
        if byID[id] != nil || revoked[id] != nil { return id }
        return formerOwner(of: id)?.id ?? id
    }

    /// What a node is told. One that is trusted: what this node has said, and what others have that are trusted here. One that is
    /// revoked: what has revoked it, so that it can say why nobody talks to it. One with a key that was rotated: that. Another:
    /// nothing.
    func statementsToTell(_ id: NodeID, _ ownIDs: [NodeID]) -> [TrustStatement] {
        if let peer = revoked[id] {
            return statements.filter { Self.revokes($0, peer) && counts($0, ownIDs) }
        }
        // Somebody who still has a key that was rotated.
        if trusted(formerly: id) != nil {
            return statements.filter { $0.signer == id && $0.successor != nil }
        }
        guard byID[id] != nil else { return [] }
        return statements.filter { counts($0, ownIDs) }
    }

    private static func revokes(_ statement: TrustStatement, _ peer: Peer) -> Bool {
        guard let subject = statement.revoked else { return false }
        return peer.has(subject)
    }

    /// Whether a stored statement still counts here.
    private func counts(_ statement: TrustStatement, _ ownIDs: [NodeID]) -> Bool {
        // Also where a revoked one had another key before: others may know it by that.
        guard let subject = statement.revoked else {
            return trusted(having: statement.signer) != nil || revoked(having: statement.signer) != nil
        }
        let by = machine(statement.signer, ownIDs)
        guard ownIDs.contains(by) || mayRevoke(by) else { return false }
        return !ownIDs.contains(subject) && !isOverruled(by: by, of: subject, statement.seconds, ownIDs)
    }
}
