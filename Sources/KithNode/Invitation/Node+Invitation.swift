import KithDocuments
import KithTransport
import KithTrust

extension Node {
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
