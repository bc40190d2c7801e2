import KithDocuments
import KithReplication

/// How a node is started, beyond what its home says.
public struct NodeOptions: Sendable {
    /// The TCP port, instead of the configured one; 0 lets the system choose.
    public var port: UInt16?
    /// The address to listen on, instead of the configured one.
    public var listen: String?
    /// The port of the loopback for administration over TLS, instead of the configured one; 0 lets the system choose.
    public var administrationPort: UInt16?
    /// Whether REST is served on the port of replication, also where the configuration does not say so.
    public var servesREST = false
    /// Addresses (`HOST:PORT`) of peers, besides the configured ones.
    public var peers: [String] = []
    /// The name under which the node is seen, instead of the configured one.
    public var name: String?
    /// Whether to publish and look for nodes through Avahi.
    public var discovers = true
    /// What an app lets go to its peers, by database, from the first moment on; see `Node.setPushFilter`.
    public var pushFilters: [DatabaseName: PushFilter] = [:]
    /// Gets one line for each event, on the network's thread; it must not block for long.
    public var log: @Sendable (String) -> Void = { _ in }

    /// Options with everything as the home says.
    public init() {}
}
