/// What is known about the services on the network, and which events it makes. Pure: no Avahi, no clock.
///
/// A service is one name on one interface; Avahi tells it once for IPv4 and once for IPv6, here both are one.
struct ServiceTable {
    /// What tells services apart. Names are compared as bytes.
    struct Key: Hashable {
        let name: [UInt8]
        let interface: Int32
    }

    /// The protocol over which Avahi asks; not the family of the addresses that it is told.
    enum Family { case ipv4, ipv6 }

    /// What a look-up asks about. A service that went and came back is another one, though its key is the same: its
    /// answers have to be told again.
    struct Target: Equatable {
        let family: Family
        let appearance: UInt64
    }

    private struct Entry {
        let appearance: UInt64
        let name: String
        let interfaceName: String
        var isSeenOverIPv4 = false
        var isSeenOverIPv6 = false
        var port: UInt16 = 0
        var text: ServiceText?
        var addresses: Set<NodeAddress> = []
        var reported: DiscoveredNode?
        var isChanged = false
    }

    private let ownShortID: String
    private var entries: [Key: Entry] = [:]
    private var appearances: UInt64 = 0

    /// - Parameter ownShortID: in the form of `ServiceText.shortID`.
    init(ownShortID: String) { self.ownShortID = ownShortID }

    /// Whether there is something to report.
    private(set) var hasChanges = false

    /// A service was seen. Answers whether it is followed.
    mutating func appeared(_ key: Key, name: String, interfaceName: String, over family: Family) -> Bool {
        if entries[key] == nil {
            guard entries.count < DiscoveryLimits.servicesMax, ServiceName.isPresentable(name) else { return false }
            appearances += 1
            entries[key] = Entry(appearance: appearances, name: name, interfaceName: interfaceName)
        }
        switch family {
        case .ipv4: entries[key]!.isSeenOverIPv4 = true
        case .ipv6: entries[key]!.isSeenOverIPv6 = true
        }
        return true
    }

    /// A service is not seen over this family any more. Answers the event if that was the last of it and it had been
    /// reported.
    mutating func disappeared(_ key: Key, over family: Family) -> DiscoveryEvent? {
        guard var entry = entries[key] else { return nil }
        switch family {
        case .ipv4: entry.isSeenOverIPv4 = false
        case .ipv6: entry.isSeenOverIPv6 = false
        }
        guard entry.isSeenOverIPv4 || entry.isSeenOverIPv6 else {
            entries.removeValue(forKey: key)
            return entry.reported.map { .lost(instanceName: $0.instanceName, interface: $0.interface) }
        }
        entries[key] = entry
        return nil
    }

    /// What to look up of a service, or `nil` when it is gone. Over IPv4 where there is a choice: hosts tell their IPv6
    /// addresses over IPv4 too, but by default not the other way round.
    func target(for key: Key) -> Target? {
        entries[key].map { Target(family: $0.isSeenOverIPv4 ? .ipv4 : .ipv6, appearance: $0.appearance) }
    }

    /// Forgets the addresses of a service, since it is looked up anew. What was reported stays until something else is.
    mutating func lookUpStarted(_ key: Key) { entries[key]?.addresses = [] }

    /// The port and TXT record of a service are known, or have changed. A record that is not Kith's makes it be passed
    /// over until it has another.
    mutating func resolved(_ key: Key, port: UInt16, text: [[UInt8]]) {
        entries[key]?.port = port
        entries[key]?.text = ServiceText(text)
        markChanged(key)
    }

    /// An address of a service appeared or went away; data that is no address is passed over.
    mutating func address(_ key: Key, recordData: [UInt8], isThere: Bool) {
        guard let entry = entries[key],
            let address = NodeAddress(recordData: recordData, onLoopback: entry.interfaceName == "lo")
        else { return }
        if isThere {
            guard entry.addresses.count < DiscoveryLimits.addressesPerServiceMax else { return }
            entries[key]!.addresses.insert(address)
        } else {
            entries[key]!.addresses.remove(address)
        }
        markChanged(key)
    }

    /// The events of everything that differs from what was reported. A service is first reported when it has a port, a
    /// readable record and an address; while it has none of one of them for a moment, the earlier report stands.
    mutating func takeEvents() -> [DiscoveryEvent] {
        guard hasChanges else { return [] }
        hasChanges = false
        var events: [DiscoveryEvent] = []
        for (key, entry) in entries where entry.isChanged {
            entries[key]!.isChanged = false
            guard entry.port != 0, let text = entry.text, !entry.addresses.isEmpty else { continue }
            let node = DiscoveredNode(
                instanceName: entry.name, shortID: text.shortID, protocolVersion: text.version,
                addresses: entry.addresses.sorted().map { $0.text(interface: entry.interfaceName) },
                port: entry.port, interface: entry.interfaceName, isOwn: text.shortID == ownShortID)
            guard node != entry.reported else { continue }
            entries[key]!.reported = node
            events.append(.found(node))
        }
        return events
    }

    /// Forgets everything and answers the events of that.
    mutating func removeAll() -> [DiscoveryEvent] {
        defer {
            entries = [:]
            hasChanges = false
        }
        return entries.values.compactMap { entry in
            entry.reported.map { .lost(instanceName: $0.instanceName, interface: $0.interface) }
        }
    }

    private mutating func markChanged(_ key: Key) {
        guard entries[key] != nil else { return }
        entries[key]!.isChanged = true
        hasChanges = true
    }
}
