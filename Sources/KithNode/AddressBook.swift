import KithTransport
import KithTrust

/// Where peers may be reached: hints only, since who answers is decided by its key.
///
/// Addresses come from discovery (with the node's short ID) and from configuration (with no ID until somebody has
/// answered there). A stale address does no harm: it is tried and passed over.
struct AddressBook {
    private var discovered: [String: [SocketAddress]] = [:]
    /// The short IDs in `discovered`, oldest first: anybody on the network can make up new ones.
    private var discoveredOrder: [String] = []
    private(set) var configured: [SocketAddress] = []
    /// Who answered at a configured address.
    private var owners: [SocketAddress: NodeID] = [:]
    /// The address at which a peer was last reached: tried first.
    private var lastGood: [NodeID: SocketAddress] = [:]

    init(configured: [SocketAddress]) { self.configured = configured }

    /// Adds what discovery saw; newest first.
    ///
    /// - Returns: whether an address is new.
    mutating func add(_ addresses: [SocketAddress], shortID: String) -> Bool {
        let known = discovered[shortID] ?? []
        if known.isEmpty {
            discoveredOrder.append(shortID)
            if discoveredOrder.count > NodeLimits.nearbyMax { discovered[discoveredOrder.removeFirst()] = nil }
        }
        var all = addresses
        for old in discovered[shortID] ?? [] where !all.contains(old) { all.append(old) }
        discovered[shortID] = Array(all.prefix(NodeLimits.addressesPerPeerMax))
        return addresses.contains { !known.contains($0) }
    }

    /// Notes who answered at an address.
    mutating func note(_ id: NodeID, at address: SocketAddress) {
        if configured.contains(address) { owners[address] = id }
        for (other, good) in lastGood where good == address && other != id { lastGood[other] = nil }
        lastGood[id] = address
    }

    /// Forgets what is known of a node that is no longer trusted: another may answer at its addresses tomorrow.
    mutating func forget(_ id: NodeID) {
        lastGood[id] = nil
        for (address, owner) in owners where owner == id { owners[address] = nil }
    }

    /// Adds an address that a person has given, unless it is there.
    mutating func configure(_ address: SocketAddress) {
        if !configured.contains(address) { configured.append(address) }
    }

    /// Takes back an address that a person has given, and that somebody answers there.
    mutating func unconfigure(_ address: SocketAddress) {
        configured.removeAll { $0 == address }
        owners[address] = nil
        for (id, good) in lastGood where good == address { lastGood[id] = nil }
    }

    /// Who answers at a configured address, as far as known.
    func owner(of address: SocketAddress) -> NodeID? { owners[address] }

    /// Configured addresses at which nobody has answered yet.
    var unowned: [SocketAddress] { configured.filter { owners[$0] == nil } }

    /// Where discovery has seen a node, best first.
    func discovered(shortID: String) -> [SocketAddress] { discovered[shortID] ?? [] }

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
