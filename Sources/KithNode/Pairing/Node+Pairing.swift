import KithDocuments
import KithTransport

extension Node {
    /// Where the machine may be that a person wants to pair with.
    ///
    /// - Parameter text: the name or the short ID of a node nearby, or an address, with or without a port.
    /// - Throws: `.notFound` when none of that name is seen; `.badName` when several are.
    func addresses(of text: String) throws(KithError) -> [SocketAddress] {
        let found = nearby.all.filter { $0.name == text || $0.shortID == text.uppercased() }
        guard found.count < 2 else {
            throw KithError(
                .badName, "\(found.count) nodes nearby are called \(text)",
                remedy: "Give the ID: \(found.map(\.shortID).joined(separator: " or "))")
        }
        if let one = found.first {
            let seen = links.addresses.discovered(shortID: one.shortID)
            guard seen.isEmpty else { return seen }
            if let address = try? SocketAddress(parsing: one.address) { return [address] }
        }
        // A name without a dot or colon is meant as the name of a node, not of a host.
        guard text.contains(where: { $0 == "." || $0 == ":" }) else {
            throw KithError(
                .notFound, "no node called \(text) is seen nearby",
                remedy: "See who is there with kith pair, or give its address")
        }
        return [try SocketAddress(parsing: text, defaultPort: NodeLimits.portDefault)]
    }
}
