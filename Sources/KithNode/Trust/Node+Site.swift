import KithDocuments
import KithTransport
import KithTrust

// A node of a site: others that its authority has signed are let in without pairing.

extension Node {
    func beginSite() throws(KithError) {
        guard let site else { return }
        try site.start()
        site.onChange = { [weak self] in self?.statusChanged() }
        site.onAdmitted = { [weak self] _ in
            self?.links.refresh()
            self?.statusChanged()
        }
        site.onRefused = { [weak self] peer in
            guard let self else { return }
            links.remove(peer: peer.id)
            stopInbound(peer.id)
            // It may come back with a new certificate.
            links.refresh()
        }
        site.onGrants = { [weak self] in self?.links.sharingChanged(from: $0) }
        site.onLook = { [weak self] in self?.askStrangers() }
        trustManager.onShown = { [weak self] in self?.site?.look(at: $0) }
    }

    /// Asks nodes that are seen and not known who they are, so that both see each other's certificates. Each address is asked seldom.
    private func askStrangers() {
        let known = home.peerBook.peers
        for entry in nearby.all where !known.contains(where: { $0.id.short == entry.shortID }) {
            trustManager.ask(oneOf: links.addresses.discovered(shortID: entry.shortID))
        }
        for address in links.addresses.unowned { trustManager.ask(address) }
    }

    /// Puts a certificate in place that somebody has signed, at once and without cutting links.
    ///
    /// - Parameter certificate: PEM.
    /// - Throws: `.damaged`, `.notTrusted` for one that is not good here; errors of the disk. Then the old one stays.
    public func installCertificate(_ certificate: [UInt8]) throws(KithError) {
        try show(try home.install(certificate: certificate))
        log("another certificate is in place; it is valid through \(WallClock.text(home.identity.validThroughSeconds))")
        links.refresh()
        statusChanged()
    }

    /// What a node of the site may do is for the configuration to say.
    func checkGrants(
        _ peer: Peer?, _ database: DatabaseName?, _ change: (inout PeerSharing) -> Void
    ) throws(KithError) {
        guard let peer, peer.pairedBy == .site else { return }
        let old = database.map { peer.databases[$0] ?? PeerSharing() } ?? peer.sharing
        var new = old
        change(&new)
        guard new.access != old.access else { return }
        throw KithError(
            .badRequest, "what \(peer.name) may do is said under \"site\" in config.json",
            remedy: "Change it there, which counts within seconds, or pair the two nodes")
    }
}
