import KithDocuments
import KithTransport
import KithTrust

extension Node {
    /// Revokes a peer: live links are cut before this returns, and all other peers are told as soon as they are reached.
    ///
    /// - Parameters:
    ///   - id: the peer; one that another node has revoked may be revoked by this one as well.
    ///   - reason: for people at other nodes; at most `TrustLimits.reasonBytesMax` bytes.
    /// - Throws: `.notFound` when it is no peer; `.badRequest` for the reason; errors of the disk. Then nothing has changed.
    @discardableResult
    public func revoke(_ id: NodeID, reason: String = "") throws(KithError) -> Peer {
        let peer = try home.peerBook.revoke(
            id, reason: reason, identity: home.identity, seconds: WallClock.seconds)
        cut(peer)
        keyAlarms.forget(id)
        log("\(peer.name)  \(peer.id.short)  was revoked here")
        trustManager.tellAll(isOwnNews: true)
        statusChanged()
        return peer
    }

    /// Trusts a revoked peer again; what was said against it up to now counts here no more. Other nodes are not told: it is for a
    /// person at each of them to decide.
    ///
    /// - Parameter name: `nil` for the one that it had.
    /// - Throws: `.notFound` when it is not revoked; `.nameTaken`, `.badName`; errors of the disk. Then nothing has changed.
    @discardableResult
    public func restore(_ id: NodeID, name: String? = nil) throws(KithError) -> Peer {
        let peer = try home.peerBook.restore(id, name: name)
        log("\(peer.name)  \(peer.id.short)  is trusted again")
        links.refresh()
        trustManager.tell(peer.id, isNews: true)
        statusChanged()
        return peer
    }

    /// Gives a peer another name, here.
    ///
    /// - Throws: `.notFound`, `.nameTaken`, `.badName`; errors of the disk. Then nothing has changed.
    @discardableResult
    public func rename(_ id: NodeID, to name: String) throws(KithError) -> Peer {
        let old = home.peerBook.peer(id)?.name ?? id.short
        let peer = try home.peerBook.rename(id, to: name)
        log("\(peer.name)  \(id.short)  was called \(old) before")
        statusChanged()
        return peer
    }

    /// Notes that a person has compared the fingerprints of both nodes.
    ///
    /// - Throws: `.notFound`; errors of the disk.
    @discardableResult
    public func noteVerified(_ id: NodeID) throws(KithError) -> Peer {
        let peer = try home.peerBook.noteVerified(id)
        keyAlarms.settleSuccessors(of: id)
        statusChanged()
        return peer
    }

    /// Trusts another key in a peer's place: a person says that it is the same machine, set up anew.
    ///
    /// - Throws: `.notFound`, `.conflict`; errors of the disk. Then nothing has changed.
    @discardableResult
    public func replaceKey(of id: NodeID, by other: NodeID) throws(KithError) -> Peer {
        let old = home.peerBook.peer(id)
        let peer = try home.peerBook.replaceKey(of: id, by: other)
        if let old { cut(old) }
        keyAlarms.forget(id)
        log("\(peer.name)  \(other.short)  is trusted now in the place of \(id.short)")
        links.refresh()
        statusChanged()
        return peer
    }

    /// Renews the certificate for the same key, at once and without cutting links.
    ///
    /// - Throws: errors of the disk, `.internal`. Then the old one stays.
    public func renewCertificate() throws(KithError) {
        let tls = try home.renewCertificate(name: nil)
        try show(tls)
        log("the certificate was renewed; it is valid through \(WallClock.text(home.identity.validThroughSeconds))")
        statusChanged()
    }

    /// Looks, now and then, whether the certificate is to be renewed.
    func watchCertificate() {
        guard !isStopping else { return }
        if home.identity.isToBeRenewed(atSeconds: WallClock.seconds) {
            do {
                try renewCertificate()
            } catch {
                log("the certificate cannot be renewed: \(error.message)", key: "certificate")
            }
        }
        certificateTimer = EventLoop.shared.schedule(afterSeconds: NodeLimits.certificateLookSeconds) { [weak self] in
            self?.watchCertificate()
        }
    }

    // MARK: What others say

    func beginTrust() {
        trustManager.addresses = { [weak self] in self?.links.addresses.candidates(for: $0) ?? [] }
        trustManager.isConnected = { [weak self] in self?.links.isConnected($0) ?? false }
        trustManager.hint = { [weak self] in self?.links.hint($0) }
        trustManager.onEffects = { [weak self] in self?.applied($0) }
        trustManager.onSeen = { [weak self] id, address in
            self?.keyAlarms.noteSeen(id)
            if self?.home.peerBook.peer(id) != nil { self?.links.answered(id, at: address) }
        }
        // It may know this node now by another key.
        trustManager.onTold = { [weak self] in self?.links.hurry($0) }
        trustManager.onOwnKey = { [weak self] address in
            guard let self else { return }
            log.aboutStranger("\(address)  has this node's own key: its home was copied", key: "own key")
            keyAlarms.noteOwnKey(address: address, seconds: WallClock.seconds)
            statusChanged()
        }
        links.onLinked = { [weak self] in self?.trustManager.linked($0) }
        links.onNote = { [weak self] in self?.trustManager.hear(at: $0) }
        links.onUntrusted = { [weak self] certificate, address in
            if let certificate {
                self?.noteShown(certificate, at: address.description)
                self?.trustManager.refused(by: NodeID(subjectPublicKeyHash: certificate.publicKeyHash))
            }
            self?.trustManager.ask(address)
        }
    }

    /// Cuts everything of a peer.
    private func cut(_ peer: Peer) {
        for id in [peer.id] + peer.formerIDs {
            links.remove(peer: id)
            stopInbound(id)
        }
    }

    private func applied(_ effects: [StatementEffect]) {
        for effect in effects {
            switch effect {
            case .revoked(let peer):
                cut(peer)
                let reason = peer.revocation.map { $0.reason.isEmpty ? "" : ": \($0.reason)" } ?? ""
                log("\(peer.name)  \(peer.id.short)  was revoked by \(peer.revocation?.byName ?? "this node")\(reason)")
            case .rotated(let old, let new):
                let places = links.addresses.candidates(for: old.id)
                links.remove(peer: old.id)
                stopInbound(old.id)
                keyAlarms.rename(old.id, to: new.id)
                if let place = places.first { links.answered(new.id, at: place) }
                log("\(new.name)  \(new.id.short)  has a new key in the place of \(old.id.short)")
            case .ownRevocation(let name): log("\(name)  has revoked this node")
            case .twoSuccessors(let peer, let other):
                keyAlarms.noteTwoSuccessors(of: peer.id, other: other)
                log(
                    "\(peer.name)  \(peer.id.short)  a former key of it has signed another successor, \(other.short)",
                    key: "successors \(peer.id)")
            case .unheeded(let peer, let signer):
                log(
                    "\(signer.name)  revokes \(peer.name), which has revoked it before: that one counts, and this does not",
                    key: "unheeded \(signer.id) \(peer.id)")
            case .ownKeyReplaced(let id):
                keyAlarms.noteOwnSuccessor(id)
                log(
                    "this node's own key has signed a successor that is not this node, \(id.short)",
                    key: "own successor")
            }
        }
        links.refresh()
        statusChanged()
    }

    /// A machine was seen whose certificate has the name of a peer and another key.
    func noteShown(_ certificate: PeerCertificate, at address: String) {
        let id = NodeID(subjectPublicKeyHash: certificate.publicKeyHash)
        site?.look(at: certificate)
        guard id != home.identity.nodeID, home.peerBook.peer(everCalled: id) == nil,
            let name = certificate.commonName, let peer = home.peerBook.peer(named: name)
        else { return }
        keyAlarms.noteShown(peer, id: id, address: address, seconds: WallClock.seconds)
        statusChanged()
    }

    /// The machine that calls itself like a peer and has another key, if one is seen now.
    func shownKey(of peer: Peer) -> KeyAlarms.Shown? {
        if let near = nearby.all.first(where: { isOther($0, peer) }) {
            let whole = keyAlarms.wholeID(short: near.shortID)
            return KeyAlarms.Shown(
                id: whole?.description ?? near.shortID, short: near.shortID, address: near.address,
                seconds: WallClock.seconds)
        }
        return keyAlarms.shown[peer.id]
    }

    private func isOther(_ node: NearbyNodes.Entry, _ peer: Peer) -> Bool {
        guard node.name == peer.name, node.shortID != home.identity.nodeID.short else { return false }
        return !home.peerBook.peers.contains { other in
            ([other.id] + other.formerIDs).contains { $0.short == node.shortID }
        }
    }

    /// Discovery has seen a node: whoever calls itself like a peer and has another key is asked who it is.
    func lookAtName(_ name: String, shortID: String, _ addresses: [SocketAddress]) {
        guard let peer = home.peerBook.peer(named: name), let address = addresses.first,
            nearby.all.contains(where: { $0.shortID == shortID && isOther($0, peer) })
        else { return }
        trustManager.ask(address)
    }
}
