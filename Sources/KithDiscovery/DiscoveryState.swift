/// Whether discovery works.
public enum DiscoveryState: Sendable, Equatable {
    /// It works; the interfaces that can carry multicast and are up.
    case on(interfaces: [String])
    /// It does not work; it is tried again until it does. The node replicates with configured addresses meanwhile.
    case off(reason: String, remedy: String?)
}
