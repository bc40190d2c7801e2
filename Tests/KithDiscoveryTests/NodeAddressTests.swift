import Testing

@testable import KithDiscovery

@Suite("Addresses")
struct NodeAddressTests {
    static func ipv6(_ head: [UInt8], _ tail: [UInt8]) -> [UInt8] {
        head + [UInt8](repeating: 0, count: 16 - head.count - tail.count) + tail
    }

    @Test("addresses are written as they are dialled, link-local ones with their interface")
    func text() {
        func text(_ bytes: [UInt8]) -> String? {
            NodeAddress(recordData: bytes, onLoopback: false)?.text(interface: "eth0")
        }
        #expect(text([192, 168, 1, 20]) == "192.168.1.20")
        #expect(text(Self.ipv6([0xFE, 0x80], [1])) == "fe80::1%eth0")
        #expect(text(Self.ipv6([0xFE, 0xBF], [1])) == "febf::1%eth0")
        #expect(text(Self.ipv6([0xFD, 0x77], [1])) == "fd77::1")
        #expect(text(Self.ipv6([0x20, 0x01, 0x0D, 0xB8], [0x12, 0x34])) == "2001:db8::1234")
    }

    @Test(
        "data that no node can have as its address is refused",
        arguments: [
            [], [1, 2, 3], [1, 2, 3, 4, 5], [0, 0, 0, 0], [0, 1, 2, 3], [127, 0, 0, 1], [224, 0, 0, 251],
            [255, 255, 255, 255],
            ipv6([], []), ipv6([], [1]), ipv6([], [0xFF, 0xFF, 10, 0, 0, 1]), ipv6([], [10, 0, 0, 1]),
            ipv6([0xFF, 2], [0xFB]),
            [UInt8](repeating: 1, count: 17), [UInt8](repeating: 1, count: 15),
        ] as [[UInt8]])
    func refused(bytes: [UInt8]) {
        #expect(NodeAddress(recordData: bytes, onLoopback: false) == nil)
    }

    @Test("loopback addresses count on the loopback interface only")
    func loopback() {
        #expect(NodeAddress(recordData: [127, 0, 0, 1], onLoopback: true) != nil)
        #expect(NodeAddress(recordData: Self.ipv6([], [1]), onLoopback: true) != nil)
        #expect(NodeAddress(recordData: Self.ipv6([], []), onLoopback: true) == nil)
    }

    @Test("IPv4 comes first, link-local IPv6 last")
    func order() {
        let all = [
            Self.ipv6([0xFE, 0x80], [1]), [10, 0, 0, 2], Self.ipv6([0xFD, 0], [1]), [10, 0, 0, 1],
        ].map { NodeAddress(recordData: $0, onLoopback: false)! }
        #expect(all.sorted().map { $0.text(interface: "e") } == ["10.0.0.1", "10.0.0.2", "fd00::1", "fe80::1%e"])
    }

    @Test("a node's addresses are dialled with brackets around IPv6")
    func dial() {
        let node = DiscoveredNode(
            instanceName: "a", shortID: "K7QX-2M9F", addresses: ["10.0.0.1", "fe80::1%eth0"], port: 4984,
            interface: "eth0")
        #expect(node.dialAddresses == ["10.0.0.1:4984", "[fe80::1%eth0]:4984"])
    }
}
