import KithDocuments
import KithTransport
import KithTrust

extension Node {
    /// Asks the machine that a person means.
    ///
    /// - Throws: as `pairingPlace` and `PairingManager.ask`.
    func askToPair(_ text: String) throws(KithError) -> NodePairing {
        let place = try pairingPlace(text)
        return try pairing.ask(place.addresses, expecting: place.shortID)
    }

    /// Where the machine is that a person means, and who was announced there, if that is known.
    ///
    /// - Parameter text: an address, with or without a port; the short or whole ID, or the name of a node nearby; the name
    ///   of a host.
    /// - Throws: `.notFound` when none of that name is seen; `.badName` when several are.
    func pairingPlace(_ text: String) throws(KithError) -> (addresses: [SocketAddress], shortID: String?) {
        let address = try? SocketAddress(parsing: text, defaultPort: NodeLimits.portDefault)
        if let address, !address.isName { return ([address], nil) }
        let shortID = (try? NodeID(parsing: text))?.short ?? text.uppercased()
        let all = nearby.all
        let byID = all.filter { $0.shortID == shortID }
        let found = byID.isEmpty ? all.filter { $0.name == text } : byID
        guard found.count < 2 else {
            throw KithError(
                .badName, "\(found.count) nodes nearby are called \(text)",
                remedy: "Give the ID: \(found.map(\.shortID).joined(separator: " or "))")
        }
        if let one = found.first {
            var places = links.addresses.discovered(shortID: one.shortID)
            if places.isEmpty, let seen = try? SocketAddress(parsing: one.address) { places = [seen] }
            return (places, one.shortID)
        }
        // A name without a dot or colon is meant as the name of a node, not of a host.
        guard let address, text.contains(where: { $0 == "." || $0 == ":" }) else {
            throw KithError(
                .notFound, "no node called \(text) is seen nearby",
                remedy: "See who is there with kith pair, or give its address")
        }
        return ([address], nil)
    }
}
