import Testing

@testable import KithDiscovery

@Suite("The table of services")
struct ServiceTableTests {
    static let key = ServiceTable.Key(name: Array("laptop".utf8), interface: 2)
    static let text = [Array("v=1".utf8), Array("id=K7QX2M9F".utf8)]

    static func appeared() -> ServiceTable {
        var table = ServiceTable(ownShortID: "0000-0000")
        _ = table.appeared(key, name: "laptop", interfaceName: "eth0", over: .ipv6)
        _ = table.appeared(key, name: "laptop", interfaceName: "eth0", over: .ipv4)
        return table
    }

    static func node(_ addresses: [String], port: UInt16 = 4984, isOwn: Bool = false) -> DiscoveredNode {
        DiscoveredNode(
            instanceName: "laptop", shortID: "K7QX-2M9F", addresses: addresses, port: port, interface: "eth0",
            isOwn: isOwn)
    }

    @Test("a service seen over both families is one node, reported once with all its addresses")
    func once() {
        var table = Self.appeared()
        #expect(table.target(for: Self.key)?.family == .ipv4)
        table.resolved(Self.key, port: 4984, text: Self.text)
        table.address(Self.key, recordData: [10, 0, 0, 2], isThere: true)
        table.address(Self.key, recordData: [0xFE, 0x80] + [UInt8](repeating: 0, count: 13) + [2], isThere: true)
        #expect(table.takeEvents() == [.found(Self.node(["10.0.0.2", "fe80::2%eth0"]))])
        table.resolved(Self.key, port: 4984, text: Self.text)
        #expect(table.takeEvents().isEmpty)
        #expect(table.disappeared(Self.key, over: .ipv4) == nil)
        #expect(table.target(for: Self.key)?.family == .ipv6)
        #expect(table.disappeared(Self.key, over: .ipv6) == .lost(instanceName: "laptop", interface: "eth0"))
        #expect(table.target(for: Self.key) == nil)
        #expect(table.disappeared(Self.key, over: .ipv6) == nil)
    }

    @Test("nothing is reported before port, record and an address are known, nor lost afterwards")
    func incomplete() {
        var table = Self.appeared()
        table.address(Self.key, recordData: [10, 0, 0, 2], isThere: true)
        #expect(table.takeEvents().isEmpty)
        table.resolved(Self.key, port: 0, text: Self.text)
        #expect(table.takeEvents().isEmpty)
        table.resolved(Self.key, port: 4984, text: [])
        #expect(table.takeEvents().isEmpty)
        #expect(table.disappeared(Self.key, over: .ipv4) == nil)
        #expect(table.disappeared(Self.key, over: .ipv6) == nil)
        #expect(table.removeAll().isEmpty)
    }

    @Test("a changed port or address is reported, a moment without addresses is not")
    func changes() {
        var table = Self.appeared()
        table.resolved(Self.key, port: 4984, text: Self.text)
        table.address(Self.key, recordData: [10, 0, 0, 2], isThere: true)
        _ = table.takeEvents()
        table.address(Self.key, recordData: [10, 0, 0, 2], isThere: false)
        #expect(table.takeEvents().isEmpty)
        table.address(Self.key, recordData: [10, 0, 0, 3], isThere: true)
        table.resolved(Self.key, port: 5000, text: Self.text)
        #expect(table.takeEvents() == [.found(Self.node(["10.0.0.3"], port: 5000))])
        table.lookUpStarted(Self.key)
        table.address(Self.key, recordData: [10, 0, 0, 3], isThere: true)
        #expect(table.takeEvents().isEmpty)
        #expect(table.removeAll() == [.lost(instanceName: "laptop", interface: "eth0")])
        #expect(table.removeAll().isEmpty)
    }

    @Test("a service that went and came back within a moment is looked up again")
    func cameBack() {
        var table = Self.appeared()
        let first = table.target(for: Self.key)
        _ = table.disappeared(Self.key, over: .ipv4)
        _ = table.appeared(Self.key, name: "laptop", interfaceName: "eth0", over: .ipv4)
        #expect(table.target(for: Self.key) == first)
        _ = table.disappeared(Self.key, over: .ipv4)
        _ = table.disappeared(Self.key, over: .ipv6)
        _ = table.appeared(Self.key, name: "laptop", interfaceName: "eth0", over: .ipv4)
        #expect(table.target(for: Self.key)?.family == first?.family)
        #expect(table.target(for: Self.key) != first)
    }

    @Test("a node recognises itself by its short ID, whatever its name and address")
    func own() {
        var table = ServiceTable(ownShortID: "K7QX-2M9F")
        _ = table.appeared(Self.key, name: "laptop", interfaceName: "eth0", over: .ipv4)
        table.resolved(Self.key, port: 4984, text: Self.text)
        table.address(Self.key, recordData: [10, 0, 0, 2], isThere: true)
        #expect(table.takeEvents() == [.found(Self.node(["10.0.0.2"], isOwn: true))])
    }

    @Test("one name on two interfaces is two services, and names are compared as bytes")
    func keys() {
        var table = ServiceTable(ownShortID: "0000-0000")
        for (name, interface) in [("caf\u{e9}", Int32(2)), ("cafe\u{301}", 2), ("caf\u{e9}", 3)] {
            let key = ServiceTable.Key(name: Array(name.utf8), interface: interface)
            let isFollowed = table.appeared(key, name: name, interfaceName: "eth\(interface)", over: .ipv4)
            #expect(isFollowed)
            table.resolved(key, port: 4984, text: Self.text)
            table.address(key, recordData: [10, 0, 0, 2], isThere: true)
        }
        #expect(table.takeEvents().count == 3)
    }

    @Test("services and addresses beyond the limits are left out")
    func limits() {
        var table = ServiceTable(ownShortID: "0000-0000")
        for number in 0..<DiscoveryLimits.servicesMax + 10 {
            let key = ServiceTable.Key(name: Array("\(number)".utf8), interface: 2)
            let isFollowed = table.appeared(key, name: "\(number)", interfaceName: "eth0", over: .ipv4)
            #expect(isFollowed == (number < DiscoveryLimits.servicesMax))
        }
        let key = ServiceTable.Key(name: Array("0".utf8), interface: 2)
        table.resolved(key, port: 4984, text: Self.text)
        for number in 0..<UInt8(100) { table.address(key, recordData: [10, 0, 0, number], isThere: true) }
        guard case .found(let node) = table.takeEvents().first else {
            Issue.record("not reported")
            return
        }
        #expect(node.addresses.count == DiscoveryLimits.addressesPerServiceMax)
    }

    @Test("a service with a name that cannot be shown is not followed")
    func badName() {
        var table = ServiceTable(ownShortID: "0000-0000")
        let key = ServiceTable.Key(name: [0x1B], interface: 2)
        let isFollowed = table.appeared(key, name: "\u{1B}", interfaceName: "eth0", over: .ipv4)
        #expect(!isFollowed)
        #expect(table.target(for: key) == nil)
    }

    @Test("waits double from one second to thirty")
    func backoff() {
        var backoff = Backoff()
        #expect((0..<7).map { _ in backoff.take() } == [1000, 2000, 4000, 8000, 16000, 30000, 30000])
        backoff.reset()
        #expect(backoff.take() == 1000)
    }
}
