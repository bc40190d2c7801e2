import KithDocuments

extension PeerBook {
    /// Those that were trusted and are revoked, ordered by the bytes of their names.
    public var revokedPeers: [Peer] {
        contents.withLock { Array($0.revoked.values) }
            .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    /// The peer with this ID if it is revoked.
    public func revokedPeer(_ id: NodeID) -> Peer? { contents.withLock { $0.revoked[id] } }

    /// The peer that has this ID or had it, also when it is revoked.
    public func peer(everCalled id: NodeID) -> Peer? {
        contents.withLock { contents in
            contents.byID[id] ?? contents.revoked[id] ?? contents.formerOwner(of: id)
        }
    }

    /// Revokes a peer, durably: it is no longer trusted, and this node says so to others. Cutting its live connections and
    /// telling the others is the caller's part. One that another node has revoked can be revoked by this one as well.
    ///
    /// - Parameters:
    ///   - reason: for people; see `TrustStatement.check(reason:)`.
    ///   - identity: this node's, to sign it.
    ///   - seconds: now, since 1970.
    /// - Returns: the peer, with its `revocation`.
    /// - Throws: `notFound`, `badRequest`, `homeNotWritable`, `diskFull`, `inputOutput`. Then nothing has changed.
    @discardableResult
    public func revoke(
        _ id: NodeID, reason: String, identity: NodeIdentity, seconds: Int64
    ) throws(KithError) -> Peer {
        try change { contents throws(KithError) in
            let seconds = contents.nextSeconds(revoking: id, atSeconds: seconds, ownIDs)
            guard seconds <= StatementOutline.secondsMax else {
                throw KithError(.badRequest, "the last revocation of this peer has a time after the year 9999")
            }
            let statement = try identity.revocation(of: id, reason: reason, seconds: seconds)
            return try contents.revoke(id, statement, ownIDs)
        }
    }

    /// Trusts a revoked peer again, durably; whatever was said against it up to now no longer counts here.
    ///
    /// - Parameter name: `nil` for the one that it had.
    /// - Throws: `notFound` when it is not revoked, `nameTaken`, `badName`, `conflict` when it is a key that another peer has
    ///   had before; `homeNotWritable`, `diskFull`, `inputOutput`. Then nothing has changed.
    @discardableResult
    public func restore(_ id: NodeID, name: String? = nil) throws(KithError) -> Peer {
        if let name { try NodeName.check(name) }
        return try change { contents throws(KithError) in
            try contents.restore(id, name: name ?? contents.revoked[id]?.name ?? "", ownIDs)
        }
    }

    /// Takes what another node has told, durably: those statements that count. A wrong one stops none of the others.
    ///
    /// They are taken in the order in which they were told, which is that in which they came to count for the other node: of two that
    /// revoke each other the first counts here as well.
    ///
    /// - Parameters:
    ///   - statements: each as it came. At most `TrustLimits.statementsMax` are looked at.
    ///   - seconds: now, of a clock that does not go back.
    /// - Returns: what has changed, with one warning of each signer; what was wrong with statements; and those that count and whose
    ///   signer has said the like too often (`TrustLimits.redatingsMax`), to be shown again later. After `TrustLimits.wrongSignaturesMax`
    ///   wrong signatures the rest is not looked at.
    /// - Throws: `homeNotWritable`, `diskFull`, `inputOutput`. Then nothing has changed.
    public func receive(
        _ statements: [[UInt8]], atSeconds seconds: Double
    ) throws(KithError) -> (effects: [StatementEffect], faults: [KithError], later: [TrustStatement]) {
        var later: [TrustStatement] = []
        var faults: [KithError] = []
        var waiting: [StatementOutline] = []
        var seen: Set<[UInt8]> = []
        for bytes in statements.prefix(TrustLimits.statementsMax) where seen.insert(bytes).inserted {
            do throws(KithError) { waiting.append(try StatementOutline(parsing: bytes)) } catch { faults.append(error) }
        }
        var wrong = 0
        let effects = try change { contents throws(KithError) in
            var effects: [StatementEffect] = []
            var warned: Set<NodeID> = []
            var hasChanged = true
            // One can make another count, in whatever order they came.
            while hasChanged, wrong < TrustLimits.wrongSignaturesMax {
                let before = contents
                var rest: [StatementOutline] = []
                for outline in waiting {
                    guard wrong < TrustLimits.wrongSignaturesMax else { break }
                    do throws(KithError) {
                        let isQuiet = warned.contains(outline.signer)
                        switch try contents.receive(
                            outline, ownIDs: ownIDs, isQuiet: isQuiet, atSeconds: seconds)
                        {
                        case .taken(let effect?):
                            effects.append(effect)
                            if effect.isWarning { warned.insert(outline.signer) }
                        case .taken(nil): rest.append(outline)
                        case .later(let statement): later.append(statement)
                        }
                    } catch {
                        wrong += 1
                        faults.append(error)
                    }
                }
                waiting = rest
                hasChanged = contents != before
            }
            return effects
        }
        return (effects, faults, later)
    }

    /// Counts up whenever what is told to others has changed.
    public var statementsVersion: UInt64 { contents.withLock { $0.statementsVersion } }

    /// What a node is told: to one that is trusted, what this node and those that it trusts have said; to one that is revoked,
    /// what has revoked it; to others nothing.
    public func statementsToTell(_ id: NodeID) -> [TrustStatement] {
        contents.withLock { $0.statementsToTell(id, ownIDs) }
    }

    /// What peers have said against this node.
    public var revocationsOfOwn: [PeerRevocation] {
        contents.withLock { contents in
            contents.statements.compactMap { statement in
                guard let subject = statement.revoked, ownIDs.contains(subject),
                    let peer = contents.byID[contents.machine(statement.signer, ownIDs)]
                else { return nil }
                return PeerRevocation(
                    by: peer.id, byName: peer.name, seconds: statement.seconds, reason: statement.reason)
            }
        }
    }

    /// Forgets what a peer has said against this node, durably, since it trusts this node: there is a link with it.
    ///
    /// - Returns: whether there was something.
    /// - Throws: `homeNotWritable`, `diskFull`, `inputOutput`. Then nothing has changed.
    @discardableResult
    public func forgive(_ id: NodeID) throws(KithError) -> Bool {
        guard revocationsOfOwn.contains(where: { $0.by == id }) else { return false }
        return try change { contents throws(KithError) in
            guard let peer = contents.byID[id] else { return false }
            contents.forgive(peer, ownIDs)
            return true
        }
    }

    /// Signs anew, after this node's key was rotated, what it has said under former keys, durably: those no longer count.
    /// Nothing that others say in its name is ever in the book, so it is what a person has decided here.
    ///
    /// - Throws: `internal`, `homeNotWritable`, `diskFull`, `inputOutput`. Then nothing has changed.
    public func signAnew(_ identity: NodeIdentity) throws(KithError) {
        let former = Set(identity.formerIDs)
        guard !former.isEmpty else { return }
        try change { contents throws(KithError) in
            for index in contents.statements.indices {
                let old = contents.statements[index]
                guard former.contains(old.signer), let subject = old.revoked else { continue }
                contents.statements[index] = try identity.revocation(
                    of: subject, reason: old.reason, seconds: old.seconds)
            }
        }
    }

    /// Notes that a person has compared the fingerprints with a peer, durably.
    ///
    /// - Throws: `notFound`, `homeNotWritable`, `diskFull`, `inputOutput`. Then nothing has changed.
    @discardableResult
    public func noteVerified(_ id: NodeID) throws(KithError) -> Peer {
        try change { contents throws(KithError) in
            guard var peer = contents.byID[id] else { throw Self.noPeer(id) }
            peer.verifiedAt = Self.nowText()
            contents.set(peer)
            return peer
        }
    }

    /// Puts another key in a peer's place, durably, because a person says that it is the same machine, set up anew. The old
    /// key is not trusted any more.
    ///
    /// - Throws: `notFound`; `conflict` when a peer or this node has or had the other key; `homeNotWritable`,
    ///   `diskFull`, `inputOutput`. Then nothing has changed.
    @discardableResult
    public func replaceKey(of id: NodeID, by other: NodeID) throws(KithError) -> Peer {
        try change { contents throws(KithError) in
            guard var peer = contents.byID[id] else { throw Self.noPeer(id) }
            guard contents.byID[other] == nil, contents.revoked[other] == nil else {
                throw KithError(.conflict, "\(other.short) is in the book already")
            }
            try contents.checkKey(other, ownIDs)
            contents.remove(id)
            contents.forgetStatements(by: peer)
            peer.id = other
            peer.formerIDs = []
            peer.trustedAt = Self.nowText()
            peer.verifiedAt = peer.trustedAt
            peer.pairedBy = .id
            contents.welcome(peer, ownIDs)
            contents.set(peer)
            return peer
        }
    }
}
