import KithTransport
import KithTrust

/// Where peers may be reached: hints only, since who answers is decided by its key.
///
/// Addresses come from discovery (with the node's short ID) and from configuration (with no ID until somebody has
/// answered there). A stale address does no harm: it is tried and passed over.
struct AddressBook {
    private var discovered: [String: [SocketAddress]] = [:]
    private var configured: [SocketAddress] = []
    /// Who answered at a configured address.
    private var owners: [SocketAddress: NodeID] = [:]
    /// The address at which a peer was last reached: tried first.
    private var lastGood: [NodeID: SocketAddress] = [:]

    init(configured: [SocketAddress]) { self.configured = configured }

    /// Adds what discovery saw; newest first.
    mutating func add(_ addresses: [SocketAddress], shortID: String) {
        var all = addresses
        for old in discovered[shortID] ?? [] where !all.contains(old) { all.append(old) }
        discovered[shortID] = Array(all.prefix(NodeLimits.addressesPerPeerMax))
    }

    /// Notes who answered at an address.
    mutating func note(_ id: NodeID, at address: SocketAddress) {
        if configured.contains(address) { owners[address] = id }
        lastGood[id] = address
    }

    /// The addresses at which a peer may be, best first.
    func candidates(for id: NodeID) -> [SocketAddress] {
        var result: [SocketAddress] = []
        if let good = lastGood[id] { result.append(good) }
        for address in discovered[id.short] ?? [] where !result.contains(address) { result.append(address) }
        for address in configured where owners[address].map({ $0 == id }) ?? true {
            if !result.contains(address) { result.append(address) }
        }
        return result
    }
}
