import KithDocuments

// Which statements count, and what follows from them. docs/SECURITY.md has the reasons.

extension BookContents {
    /// Takes one statement of another node, if it counts.
    ///
    /// A revocation counts when its signer is trusted here, by the key that it has now, and may write. A rotation counts when the old key
    /// is trusted here, or the new one: then it says which keys that peer had before. What does not count leaves
    /// everything as it was, and its signatures are not looked at.
    ///
    /// - Parameter ownIDs: this node's ID, and then those that it had before.
    /// - Returns: what has changed; `nil` when nothing that concerns anybody here.
    /// - Throws: `.notTrusted` when it would count and a signature is wrong.
    mutating func receive(_ outline: StatementOutline, ownIDs: [NodeID]) throws(KithError) -> StatementEffect? {
        switch outline.content {
        case .revocation(let subject, _): try receiveRevocation(outline, of: subject, ownIDs)
        case .rotation(let next): try receiveRotation(outline, to: next, ownIDs)
        }
    }

    // MARK: Revocations

    private mutating func receiveRevocation(
        _ outline: StatementOutline, of subject: NodeID, _ ownIDs: [NodeID]
    ) throws(KithError) -> StatementEffect? {
        let signer = outline.signer
        let isOwn = ownIDs.contains(signer)
        guard isOwn || mayRevoke(signer) || (byID[signer] != nil && ownIDs.contains(subject)) else { return nil }
        // Of two that revoke each other the first one counts, also when a person has overruled it since.
        guard
            !statements.contains(where: { other in
                other.revoked.map { machine($0, ownIDs) == machine(signer, ownIDs) } ?? false
                    && machine(other.signer, ownIDs) == machine(subject, ownIDs)
            }) || machine(signer, ownIDs) == machine(subject, ownIDs)
        else { return nil }
        let same = statements.firstIndex {
            $0.revoked == subject && machine($0.signer, ownIDs) == machine(signer, ownIDs)
        }
        if let same, statements[same].seconds >= outline.seconds {
            // The same under the signer's newer key takes the place of the old one, so that it can be passed on.
            guard statements[same].seconds == outline.seconds, statements[same].signer != signer,
                !isOwn || signer == ownIDs.first
            else { return nil }
        }
        if isOverruled(by: machine(signer, ownIDs), of: subject, outline.seconds) { return nil }
        let statement = try outline.verified()
        if let same {
            statements.remove(at: same)
        } else if !makeRoom(for: statement, ownIDs) {
            return nil
        }
        statements.append(statement)
        if ownIDs.contains(subject) { return byID[signer].map { .ownRevocation(by: $0.name) } }
        return applyRevocation(statement, ownIDs)
    }

    /// Whether a node's word cuts off others: it is trusted, and may write here in general. A guest that may only read, or has
    /// only certain databases, has no say.
    private func mayRevoke(_ id: NodeID) -> Bool {
        switch byID[id]?.sharing.access ?? .both {
        case .both, .write: byID[id] != nil
        case .read, .noAccess: false
        }
    }

    /// Cuts off the peer that a statement is about, if there is one.
    private mutating func applyRevocation(_ statement: TrustStatement, _ ownIDs: [NodeID]) -> StatementEffect? {
        guard let subject = statement.revoked, var peer = byID.values.first(where: { $0.has(subject) }) else {
            return nil
        }
        peer.revocation = revocation(statement, ownIDs)
        set(peer)
        return .revoked(peer)
    }

    private func revocation(_ statement: TrustStatement, _ ownIDs: [NodeID]) -> PeerRevocation {
        let by = machine(statement.signer, ownIDs)
        let name = ownIDs.contains(by) ? nil : (byID[by] ?? revoked[by])?.name ?? by.short
        return PeerRevocation(by: by, byName: name, seconds: statement.seconds, reason: statement.reason)
    }

    /// A person here revokes a peer. Its entry stays, so that it can be shown and restored.
    ///
    /// - Parameter statement: what this node says about it.
    /// - Throws: `.notFound`; `.tooLarge` when this node has revoked too many.
    mutating func revoke(_ id: NodeID, _ statement: TrustStatement, _ ownIDs: [NodeID]) throws(KithError) -> Peer {
        guard var peer = byID[id] ?? revoked[id] else { throw PeerBook.noPeer(id) }
        statements.removeAll { $0.revoked == id && ownIDs.contains($0.signer) }
        guard makeRoom(for: statement, ownIDs) else {
            throw KithError(
                .tooLarge,
                "this node has revoked \(TrustLimits.revocationsBySignerMax) others, which is the most that is told",
                remedy: "Pair the other nodes anew, or take trust back on each of them")
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

    /// Room for one more statement of its signer. One that concerns somebody here takes the place of the oldest that is about
    /// nobody here, if there is one.
    private mutating func makeRoom(for statement: TrustStatement, _ ownIDs: [NodeID]) -> Bool {
        let signer = machine(statement.signer, ownIDs)
        let isConcerning = !isDispensable(statement)
        func isDispensable(_ other: TrustStatement) -> Bool {
            guard let subject = other.revoked, !ownIDs.contains(other.signer) else { return false }
            return !byID.values.contains { $0.has(subject) } && !revoked.values.contains { $0.has(subject) }
                && !ownIDs.contains(subject)
        }
        if statement.revoked != nil {
            let own = statements.indices.filter {
                statements[$0].revoked != nil && machine(statements[$0].signer, ownIDs) == signer
            }
            if own.count >= TrustLimits.revocationsBySignerMax {
                guard isConcerning, let oldest = own.first(where: { isDispensable(statements[$0]) }) else {
                    return false
                }
                statements.remove(at: oldest)
            }
        }
        guard statements.count >= TrustLimits.statementsMax else { return true }
        guard isConcerning, let oldest = statements.firstIndex(where: isDispensable) else { return false }
        statements.remove(at: oldest)
        return true
    }

    // MARK: What a person decides

    /// Overrules everything that has been said against a peer up to now.
    mutating func overrule(allOf peer: Peer, _ ownIDs: [NodeID]) {
        for statement in statements {
            guard let subject = statement.revoked, peer.has(subject) else { continue }
            let by = machine(statement.signer, ownIDs)
            guard !isOverruled(by: by, of: subject, statement.seconds) else { continue }
            overruled.removeAll { $0.by == by && $0.of == subject }
            overruled.append(RevocationOverrule(by: by, of: subject, seconds: statement.seconds))
        }
        // Nothing is said of them any more: the oldest go first.
        overruled.removeFirst(max(0, overruled.count - TrustLimits.statementsMax))
    }

    /// Trusts a revoked peer again.
    mutating func restore(_ id: NodeID, name: String, _ ownIDs: [NodeID]) throws(KithError) -> Peer {
        guard var peer = revoked[id] else { throw PeerBook.noPeer(id) }
        if let other = idByName[name] {
            throw KithError(
                .nameTaken, "the name '\(name)' belongs to the peer \(other.short) now",
                remedy: "Give it another name with --name")
        }
        overrule(allOf: peer, ownIDs)
        peer.revocation = nil
        peer.name = name
        set(peer)
        return peer
    }

    /// Forgets what a peer has said against this node: they have just been paired again.
    mutating func forgive(_ peer: Peer, _ ownIDs: [NodeID]) {
        statements.removeAll { statement in
            peer.has(statement.signer) && statement.revoked.map(ownIDs.contains) ?? false
        }
    }

    /// Forgets what a peer has said, since it is in the book no more.
    mutating func forgetStatements(by peer: Peer) { statements.removeAll { peer.has($0.signer) } }

    private func isOverruled(by: NodeID, of subject: NodeID, _ seconds: Int64) -> Bool {
        overruled.contains { $0.by == by && $0.of == subject && $0.seconds >= seconds }
    }

    // MARK: Rotations

    private mutating func receiveRotation(
        _ outline: StatementOutline, to next: NodeID, _ ownIDs: [NodeID]
    ) throws(KithError) -> StatementEffect? {
        let old = outline.signer
        if ownIDs.contains(old) || ownIDs.contains(next) {
            // This node knows its own keys; a successor of the one that it has now is somebody else's.
            guard old == ownIDs.first else { return nil }
            _ = try outline.verified()
            return .ownKeyReplaced(by: next)
        }
        if let peer = byID.values.first(where: { $0.formerIDs.contains(old) }) {
            let known = statements.contains { $0.signer == old && $0.successor == next }
            guard !known, !peer.has(next) else { return nil }
            _ = try outline.verified()
            return .twoSuccessors(peer, other: next)
        }
        if let peer = byID[old] { return try follow(peer, outline, to: next, ownIDs) }
        // Somebody who was paired by a newer key: which ones it had before.
        guard var peer = byID.values.first(where: { $0.has(next) }), !peer.has(old),
            peer.formerIDs.count < TrustLimits.formerKeysMax
        else { return nil }
        let statement = try outline.verified()
        guard makeRoom(for: statement, ownIDs) else { return nil }
        statements.append(statement)
        peer.formerIDs.insert(old, at: 0)
        set(peer)
        return hit(peer, old, ownIDs)
    }

    /// A peer goes on under another key.
    private mutating func follow(
        _ peer: Peer, _ outline: StatementOutline, to next: NodeID, _ ownIDs: [NodeID]
    ) throws(KithError) -> StatementEffect? {
        // A key that somebody has had never becomes good again.
        guard !byID.values.contains(where: { $0.formerIDs.contains(next) }),
            peer.formerIDs.count < TrustLimits.formerKeysMax
        else { return nil }
        let statement = try outline.verified()
        guard makeRoom(for: statement, ownIDs) else { return nil }
        statements.append(statement)
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
                && !isOverruled(by: by, of: id, statement.seconds)
        }
        return statement.flatMap { applyRevocation($0, ownIDs) }
    }

    // MARK: What is told

    /// The ID that the machine with a key has now.
    func machine(_ id: NodeID, _ ownIDs: [NodeID]) -> NodeID {
        if let own = ownIDs.first, ownIDs.contains(id) { return own }
        if byID[id] != nil || revoked[id] != nil { return id }
        return (byID.values.first { $0.has(id) } ?? revoked.values.first { $0.has(id) })?.id ?? id
    }

    /// What a node is told. One that is trusted: what this node has said, and what others have that are trusted here. One that is
    /// revoked: what has revoked it, so that it can say why nobody talks to it. One with a key that was rotated: that. Another:
    /// nothing.
    func statementsToTell(_ id: NodeID, _ ownIDs: [NodeID]) -> [TrustStatement] {
        if let peer = revoked[id] {
            return statements.filter { statement in
                statement.revoked.map(peer.has) ?? false && counts(statement, ownIDs)
            }
        }
        // Somebody who still has a key that was rotated.
        if byID.values.contains(where: { $0.formerIDs.contains(id) }) {
            return statements.filter { $0.signer == id && $0.successor != nil }
        }
        guard byID[id] != nil else { return [] }
        return statements.filter { counts($0, ownIDs) }
    }

    /// Whether a stored statement still counts here.
    private func counts(_ statement: TrustStatement, _ ownIDs: [NodeID]) -> Bool {
        // Also where a revoked one had another key before: others may know it by that.
        guard let subject = statement.revoked else {
            return byID.values.contains { $0.has(statement.signer) }
                || revoked.values.contains { $0.has(statement.signer) }
        }
        let by = machine(statement.signer, ownIDs)
        guard ownIDs.contains(by) || mayRevoke(by) else { return false }
        return !ownIDs.contains(subject) && !isOverruled(by: by, of: subject, statement.seconds)
    }
}
