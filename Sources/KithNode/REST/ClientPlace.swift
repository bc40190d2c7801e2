import KithTransport

/// Where a client is, as it is counted: by its address, and by the network of which it may have every address.
struct ClientPlace: Hashable, Sendable {
    /// See `SocketAddress.countedHost`; empty on the socket.
    var host = ""
    /// See `SocketAddress.countedNetwork`; the same as `host` where an address is all that a machine has.
    var network = ""

    /// - Parameter address: nil on the socket.
    init(_ address: SocketAddress?) {
        guard let address else { return }
        host = address.countedHost
        network = address.countedNetwork
    }
}
