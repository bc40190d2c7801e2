import KithDocuments
import KithTransport
import KithTrust

extension Node {
    /// What a QR code of an invitation holds.
    func invitationURI(_ code: InvitationCode) -> InvitationURI {
        var places: [String] = []
        for text in listening {
            guard let address = try? SocketAddress(parsing: text) else { continue }
            let isEverywhere = ["::", "0.0.0.0"].contains(address.host)
            for host in isEverywhere ? NetworkWatcher.reachableAddresses : [address.host] {
                if let place = try? SocketAddress(host: host, port: address.port) { places.append(place.description) }
            }
        }
        return InvitationURI(code: code, shortID: home.identity.nodeID.short, addresses: places, name: name)
    }

    /// Where the code of a URI may be good: where it says, and where that node is seen. Names of hosts are not looked up for it.
    ///
    /// - Throws: `.badRequest` for an address that is none.
    func invitationCandidates(_ uri: InvitationURI) throws(KithError) -> [JoinAttempt.Candidate] {
        var places = uri.shortID.map { links.addresses.discovered(shortID: $0) } ?? []
        for text in uri.addresses {
            guard let address = try? SocketAddress(parsing: text, defaultPort: NodeLimits.portDefault), !address.isName
            else { throw KithError(.badRequest, "the invitation has an address that is none: \(text.prefix(80))") }
            if !places.contains(address) { places.append(address) }
        }
        guard !places.isEmpty else { return try invitationCandidates(uri.shortID) }
        return [JoinAttempt.Candidate(addresses: places, shortID: uri.shortID)]
    }

    /// Where a code may be good.
    ///
    /// - Parameter text: as `pairingPlace`; `nil` for every node nearby that is not trusted yet.
    func invitationCandidates(_ text: String?) throws(KithError) -> [JoinAttempt.Candidate] {
        if let text {
            let place = try pairingPlace(text)
            return [JoinAttempt.Candidate(addresses: place.addresses, shortID: place.shortID)]
        }
        let trusted = Set(home.peerBook.peers.map(\.id.short))
        // Those that are trusted come last: they may have forgotten this node and invite it again. Otherwise by chance, so
        // that nobody comes before all others by the name that he announces.
        let nearby = nearby.all.shuffled()
        let all = nearby.filter { !trusted.contains($0.shortID) } + nearby.filter { trusted.contains($0.shortID) }
        return all.map {
            var places = links.addresses.discovered(shortID: $0.shortID)
            if places.isEmpty, let seen = try? SocketAddress(parsing: $0.address) { places = [seen] }
            return JoinAttempt.Candidate(addresses: places, shortID: $0.shortID)
        }
    }
}
