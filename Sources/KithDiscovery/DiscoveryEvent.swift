/// What discovery tells, one event for each change.
public enum DiscoveryEvent: Sendable, Equatable {
    /// Discovery began to work, stopped working, or works on other interfaces.
    case state(DiscoveryState)
    /// A node appeared, or something about it changed; the value replaces an earlier one of the same name and interface.
    case found(DiscoveredNode)
    /// A node that had been found is gone from this interface: it said goodbye, its records expired, or Avahi ended.
    case lost(instanceName: String, interface: String)
    /// This node is on the network under this name, which may differ from the one asked for.
    case published(instanceName: String)
    /// This node is not on the network, though discovery works: others are found, but do not find it.
    case notPublished(reason: String, remedy: String?)
}
