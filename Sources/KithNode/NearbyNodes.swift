import KithDiscovery

/// The nodes that discovery sees now, trusted or not.
struct NearbyNodes {
    /// One node, however many interfaces it is seen on.
    struct Entry {
        var name: String
        var shortID: String
        var address: String
        /// Where it is seen.
        var places: Set<String>
    }

    private var entries: [Entry] = []

    var all: [Entry] { entries.sorted { $0.name < $1.name } }

    func name(shortID: String) -> String? { entries.first { $0.shortID == shortID }?.name }

    /// Notes a node.
    ///
    /// - Returns: whether it was not there before.
    mutating func found(_ node: DiscoveredNode, address: String) -> Bool {
        let shortID = node.shortID
        guard !shortID.isEmpty else { return false }
        let place = Self.place(node.instanceName, node.interface)
        if let index = entries.firstIndex(where: { $0.shortID == shortID }) {
            entries[index].name = node.instanceName
            entries[index].address = address
            entries[index].places.insert(place)
            return false
        }
        guard entries.count < NodeLimits.nearbyMax else { return false }
        entries.append(Entry(name: node.instanceName, shortID: shortID, address: address, places: [place]))
        return true
    }

    /// Forgets a node on one interface; it is gone when it is seen on none.
    mutating func lost(instanceName: String, interface: String) {
        let place = Self.place(instanceName, interface)
        for index in entries.indices { entries[index].places.remove(place) }
        entries.removeAll { $0.places.isEmpty }
    }

    /// Discovery is off: nothing is seen.
    mutating func removeAll() { entries = [] }

    private static func place(_ instanceName: String, _ interface: String) -> String { interface + "/" + instanceName }
}
