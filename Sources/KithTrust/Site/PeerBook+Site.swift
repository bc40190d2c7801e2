import KithDocuments

extension PeerBook {
    /// Lets in a node that has shown a certificate of the site's authority, and says what it may do, durably.
    ///
    /// A person's decision comes first: who was paired stays as he was paired, and who is revoked, here or by a peer that may revoke, is
    /// not let in. A name that is taken gets the short ID after it.
    ///
    /// - Parameters:
    ///   - access: what it may do with databases of which nothing is said.
    ///   - databases: what it may do with single ones.
    /// - Returns: the peer as it is in the book.
    /// - Throws: `notTrusted` when it is revoked; `conflict` for a key that a peer or this node has replaced; `tooLarge` when the book
    ///   is full; errors of the disk. Then nothing has changed, but that a revocation that was only heard of before is in force.
    @discardableResult
    public func admit(
        _ member: SiteMember, access: PeerAccess, databases: [DatabaseName: PeerAccess]
    ) throws(KithError) -> Peer {
        let peer = try change { contents throws(KithError) in
            if let old = contents.byID[member.id] {
                guard old.pairedBy == .site else { return old }
                return contents.grant(old, access, databases)
            }
            if let old = contents.revoked[member.id] { return old }
            try contents.checkKey(member.id, ownIDs)
            guard contents.byID.count + contents.revoked.count < TrustLimits.peersMax else {
                throw KithError(
                    .tooLarge, "the book has \(TrustLimits.peersMax) peers, which is the most it takes",
                    remedy: "Unpair nodes that are gone")
            }
            var name = (try? NodeName.check(member.name)) == nil ? member.id.short : member.name
            if contents.idByName[name] != nil {
                name = String(String.UnicodeScalarView(name.unicodeScalars.prefix(50))) + " " + member.id.short
            }
            if contents.idByName[name] != nil || (try? NodeName.check(name)) == nil { name = member.id.description }
            var peer = Peer(id: member.id, name: name, trustedAt: Self.nowText(), pairedBy: .site)
            let against = contents.statements.first { statement in
                guard statement.revoked == member.id else { return false }
                return ownIDs.contains(statement.signer) || contents.mayRevoke(statement.signer)
            }
            if let against { peer.revocation = contents.revocation(against, ownIDs) }
            return contents.grant(peer, access, databases)
        }
        guard peer.revocation == nil else {
            throw KithError(
                .notTrusted, "\(peer.name) (\(peer.id.short)) is of this site, and was revoked by a person",
                remedy: "To trust it again: kith peers restore \(peer.id.short)")
        }
        return peer
    }

    /// Says anew what all those may do that the site's authority has let in, durably.
    ///
    /// - Throws: errors of the disk. Then nothing has changed.
    public func setSiteGrants(access: PeerAccess, databases: [DatabaseName: PeerAccess]) throws(KithError) {
        try change { contents throws(KithError) in
            for peer in contents.byID.values where peer.pairedBy == .site {
                _ = contents.grant(peer, access, databases)
            }
        }
    }
}

extension BookContents {
    /// Writes a peer down with what the configuration lets it do; how it is replicated stays as it was set.
    fileprivate mutating func grant(
        _ peer: Peer, _ access: PeerAccess, _ databases: [DatabaseName: PeerAccess]
    ) -> Peer {
        var peer = peer
        peer.sharing.access = access
        for name in peer.databases.keys { peer.databases[name]?.access = nil }
        for (name, access) in databases { peer.databases[name, default: PeerSharing()].access = access }
        peer.databases = peer.databases.filter { !$0.value.isEmpty }
        set(peer)
        return peer
    }
}
