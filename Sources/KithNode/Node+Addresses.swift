import KithDocuments
import KithTransport
import KithTrust

// Addresses that people give for peers that discovery does not reach.

extension Node {
    /// Looks for peers at an address from now on, also after the node was started anew.
    ///
    /// - Parameter text: `HOST:PORT`, or a host alone; a link-local IPv6 address needs its interface.
    /// - Returns: the address as it is kept.
    /// - Throws: `.badRequest` when it is no address, this node's own, a link-local one without interface, or one too many;
    ///   errors of the home's `config.json`. Then nothing has changed.
    @discardableResult
    public func addAddress(_ text: String) throws(KithError) -> SocketAddress {
        let address = try Self.givenAddress(text)
        guard !address.needsScope else {
            throw KithError(
                .badRequest, "\(address) means something only together with a network interface of this machine",
                remedy: "Write it with the interface, such as [\(address.host)%eth0]:\(address.port)")
        }
        guard address.port != port || !(address.isLoopback || NetworkWatcher.isOfThisMachine([address.host])) else {
            throw KithError(.badRequest, "\(address) is this node's own address")
        }
        try home.changeAddresses { (kept) throws(KithError) in
            guard !kept.contains(where: { NodeHome.means($0, address) }) else { return }
            guard kept.count < NodeLimits.addressesGivenMax else {
                throw KithError(
                    .badRequest, "\(NodeLimits.addressesGivenMax) addresses are given already",
                    remedy: "Take one back: kith peers add ADDRESS --remove")
            }
            kept.append(address.description)
        }
        links.configure(address)
        log("peers are looked for at \(address)")
        statusChanged()
        return address
    }

    /// Looks for nobody at an address any more. A link that is there stays.
    ///
    /// - Throws: `.badRequest` when it is no address; `.notFound` when it was not given; errors of the home's `config.json`.
    public func removeAddress(_ text: String) throws(KithError) {
        let address = try Self.givenAddress(text)
        try home.changeAddresses { (kept) throws(KithError) in
            guard kept.contains(where: { NodeHome.means($0, address) }) else {
                throw KithError(
                    .notFound, "\(address) is no address that was given for peers", remedy: "See them: kith peers add")
            }
            kept.removeAll { NodeHome.means($0, address) }
        }
        links.unconfigure(address)
        log("peers are not looked for at \(address) any more")
        statusChanged()
    }

    private static func givenAddress(_ text: String) throws(KithError) -> SocketAddress {
        do throws(KithError) { return try SocketAddress(parsing: text, defaultPort: NodeLimits.portDefault) } catch {
            throw KithError(.badRequest, error.message, remedy: error.remedy)
        }
    }

    /// The addresses at which peers are looked for, given when the node was started too, each with the peer that answers there.
    var givenAddresses: [(address: SocketAddress, peer: Peer?)] {
        links.addresses.configured.map { address in
            (address, links.addresses.owner(of: address).flatMap { home.peerBook.peer($0) })
        }
    }
}
